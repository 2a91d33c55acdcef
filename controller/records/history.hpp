// Conversations as plain values: the rows of the tables `message` and `call`.
//
// Each scope has one conversation; each sub-agent has its own beside it. An answer with calls is written as three
// things in one transaction: the assistant's message, a row for each call, and the message of role tool under which the
// results will be shown, in call order. A call gets its result exactly once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/records/records.hpp"
#include "protocol/conversation.hpp"

namespace quell::records {

enum class message_role : std::uint8_t { user, assistant, tool };

} // namespace quell::records

namespace quell {
template <>
struct names_of<records::message_role> {
  static constexpr auto list = std::to_array<std::string_view>({"user", "assistant", "tool"});
};
} // namespace quell

namespace quell::records {

struct message_record {
  message_id id;
  std::uint64_t seq = 0;
  scope_path scope;
  message_role role = message_role::user;
  wall_time at{};
  std::optional<operation_id> turn; ///< the turn or sub-agent to which it belongs
  bool aside = false;               ///< part of a sub-agent's conversation, not of the scope's
  person author;                    ///< for role user
  std::string client_id;            ///< the chat service's id for it; "" = none
  std::string decision;             ///< JSON text: the decision about it, if that is more than a turn; "" = none
  std::optional<bool> acknowledged; ///< for a message that ordered a stop: whether that was acknowledged
  std::string text;
  bool interrupted = false; ///< the model's stream was cut: `text` is the part that had arrived
  bool discarded = false;   ///< its turn was stopped before it began: not part of the conversation
  model_usage usage;        ///< for role assistant
  friend bool operator==(const message_record&, const message_record&) = default;
};

/// The outcome of a call, as the model sees it.
struct call_outcome {
  bool ok = true;
  bool cancelled = false;
  std::string result; ///< JSON text
  friend bool operator==(const call_outcome&, const call_outcome&) = default;
};

struct call_record {
  operation_id operation;     ///< of kind tool_call
  std::uint64_t answer = 0;   ///< seq of the assistant's message that made it
  std::uint32_t position = 0; ///< among the calls of that message
  std::string call;           ///< the model's id for it
  std::string name;
  std::string input; ///< JSON text, or the model's text if that is not JSON
  std::optional<call_outcome> outcome;
  std::string changed = {}; ///< JSON text: the other input with which a human approved it, and who; "" = none
  friend bool operator==(const call_record&, const call_record&) = default;
};

/// A message as it is read: one of role assistant, or the one of role tool that follows it, with the calls in their
/// order.
struct kept_message {
  message_record message;
  std::vector<call_record> calls;
  friend bool operator==(const kept_message&, const kept_message&) = default;
};

} // namespace quell::records
