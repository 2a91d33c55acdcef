// The messages between people, models and tools: plain values shared by the history, the turns and the model providers.
//
// Rule 13 (DESIGN 3) in these terms: an assistant message with calls is followed by one `tool_results` that holds
// exactly one result for each of them, in their order.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace quell {

/// A tool call as a model made it.
struct tool_call {
  std::string call;  ///< the model's id for it, unique in its conversation; at most 128 bytes
  std::string name;  ///< of the tool
  std::string input; ///< JSON text as the model wrote it; if it is invalid, the tool's side refuses it
  friend bool operator==(const tool_call&, const tool_call&) = default;
};

/// The outcome of a call, as the model sees it.
struct tool_result {
  std::string call;
  std::string name;
  bool ok = true;
  bool cancelled = false;
  std::string result; ///< JSON text
  friend bool operator==(const tool_result&, const tool_result&) = default;
};

struct user_message {
  std::string text;
  friend bool operator==(const user_message&, const user_message&) = default;
};

struct assistant_message {
  std::string text;
  std::vector<tool_call> calls;
  bool interrupted = false; ///< its stream was cut: `text` is the part that had arrived
  friend bool operator==(const assistant_message&, const assistant_message&) = default;
};

struct tool_results {
  std::vector<tool_result> results;
  friend bool operator==(const tool_results&, const tool_results&) = default;
};

using conversation_entry = std::variant<user_message, assistant_message, tool_results>;
using conversation = std::vector<conversation_entry>; ///< oldest first

/// Token counts, as the provider reports them.
struct model_usage {
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  std::uint64_t cached_input_tokens = 0; ///< of the input
  friend bool operator==(const model_usage&, const model_usage&) = default;
};

} // namespace quell
