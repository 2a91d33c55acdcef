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
  std::string scope{};  ///< of its turn: whose share of a limited model it takes; never sent
  std::string tenant{}; ///< the token whose holder names scopes as he likes, and so takes one share; "" = none
};

namespace model_events {
struct text {
  std::string delta; ///< whole UTF-8 characters
};
/// The model's thinking; never part of its answer.
struct thinking {
  std::string delta; ///< whole UTF-8 characters
};
/// A piece of thinking is complete and wants to be sent back.
struct thought {
  thinking_block what;
};
/// The call waits until another one of its model ends, or until the model's rate allows it.
struct queued {
  std::string model;       ///< its name in the configuration
  std::uint32_t ahead = 0; ///< calls that come before it if no other scope asks
};
/// The wait is over: the model is asked.
struct admitted {
  std::string model;
  std::chrono::milliseconds waited{0};
};
/// The model cannot answer now; the next configured one is asked. Nothing of the answer had come.
struct fell_back {
  std::string from, to; ///< names in the configuration
  fault why;
  model_usage spent{}; ///< by `from`, beside what a `retrying` has told; the usage at the end includes it
};
/// The model began a call; its input is still on its way.
struct call_begun {
  std::string call, name;
};
struct call {
  tool_call what;
};
/// The attempt failed before any text or call came. Thinking that it reported counts for nothing.
struct retrying {
  std::uint32_t attempt = 0; ///< the number of the coming attempt, from 2
  std::chrono::milliseconds after{0};
  std::string why;
  std::string code{};  ///< a name of failure_code
  std::string model{}; ///< its name in the configuration
  model_usage spent{}; ///< by the attempt that failed; the usage at the end includes it
};
/// `length`: the limit of one answer, or the model's context, is reached. `content_filter`, `refusal`: the provider or
/// the model would not go on.
enum class stop : std::uint8_t { end, calls, length, refusal, content_filter };
struct finished {
  stop why = stop::end;
  model_usage usage;
};
/// Codes: failure_code.
struct failed {
  fault why;
  model_usage usage;
};
} // namespace model_events

using model_event =
    std::variant<model_events::text, model_events::thinking, model_events::thought, model_events::queued,
                 model_events::admitted, model_events::fell_back, model_events::call_begun, model_events::call,
                 model_events::retrying, model_events::finished, model_events::failed>;

} // namespace quell
