// Requests to a model and the events that stream back: plain values between the turns and the model providers.
//
// Events come in order. The last one is exactly one `finished` or `failed`, except after a cancel. The end of a stream
// does not count as completion: without the provider's own end event the call has failed.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "protocol/conversation.hpp"
#include "protocol/fault.hpp"

namespace quell {

struct tool_offer {
  std::string name;
  std::string description;
  std::string input_schema; ///< JSON Schema of an object, as text
};

struct model_request {
  std::string instructions; ///< system text; may be empty
  conversation messages;
  std::vector<tool_offer> tools;
};

namespace model_events {
struct text {
  std::string delta; ///< whole UTF-8 characters
};
/// The model began a call; its input is still on its way.
struct call_begun {
  std::string call, name;
};
struct call {
  tool_call what;
};
struct retrying {
  std::uint32_t attempt = 0; ///< the number of the coming attempt, from 2
  std::chrono::milliseconds after{0};
  std::string why;
};
enum class stop : std::uint8_t { end, calls, length, refusal };
struct finished {
  stop why = stop::end;
  model_usage usage;
};
/// Codes: `model_unreachable`, `model_refused` (4xx: key, request), `model_overloaded`, `model_timeout`, `model_broken`
/// (the response is not a valid stream).
struct failed {
  fault why;
  model_usage usage;
};
} // namespace model_events

using model_event = std::variant<model_events::text, model_events::call_begun, model_events::call,
                                 model_events::retrying, model_events::finished, model_events::failed>;

} // namespace quell
