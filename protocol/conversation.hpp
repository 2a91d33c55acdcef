// The messages between people, models and tools: plain values shared by the history, the turns and the model providers.
//
// Rule 13 (DESIGN 3) in these terms: an assistant message with calls is followed by one `tool_results` that holds
// exactly one result for each of them, in their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "protocol/attachment.hpp"

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
  /// Images and documents that it names. Filled in while a request is written, never stored.
  attachments files = {};
  friend bool operator==(const tool_result&, const tool_result&) = default;
};

struct user_message {
  std::string text;
  attachments files = {};
  bool steers = false; ///< told while its turn ran: it belongs to that turn's exchange
  friend bool operator==(const user_message&, const user_message&) = default;
};

/// A piece of a model's thinking that its provider wants back, unchanged, with the results of the same answer's calls.
struct thinking_block {
  std::string model; ///< the provider's name of the model that thought; no other model accepts it
  std::string block; ///< JSON text, as the provider sent it, signature included
  // Its place in the answer: behind these many bytes of text and these many calls.
  std::size_t text_before = 0, calls_before = 0;
  friend bool operator==(const thinking_block&, const thinking_block&) = default;
};

struct assistant_message {
  std::string text;
  std::vector<tool_call> calls;
  bool interrupted = false; ///< its stream was cut: `text` is the part that had arrived
  /// In their order. Kept in memory while its turn runs, never stored.
  std::vector<thinking_block> thinking = {};
  friend bool operator==(const assistant_message&, const assistant_message&) = default;
};

struct tool_results {
  std::vector<tool_result> results;
  friend bool operator==(const tool_results&, const tool_results&) = default;
};

using conversation_entry = std::variant<user_message, assistant_message, tool_results>;
using conversation = std::vector<conversation_entry>; ///< oldest first

/// Sums of tokens and of money stop here instead of beginning anew: models report what they like. Two of them still fit
/// the signed 64 bits in which the store adds.
inline constexpr std::uint64_t most_used = (std::uint64_t{1} << 62) - 1;
constexpr std::uint64_t sum_of_use(std::uint64_t one, std::uint64_t other) {
  return std::min(std::min(one, most_used) + std::min(other, most_used), most_used);
}

/// Token counts as the provider reports them, and their price.
struct model_usage {
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  std::uint64_t cached_input_tokens = 0;  ///< of the input, read from the provider's cache
  std::uint64_t cache_written_tokens = 0; ///< of the input, written to the provider's cache
  std::uint64_t cost_nanos = 0;           ///< in billionths of the currency in which the prices are configured
  bool estimated = false;                 ///< part of it is quell's own estimate: a call was cut
  friend bool operator==(const model_usage&, const model_usage&) = default;
  model_usage& operator+=(const model_usage& more) {
    input_tokens = sum_of_use(input_tokens, more.input_tokens);
    output_tokens = sum_of_use(output_tokens, more.output_tokens);
    cached_input_tokens = sum_of_use(cached_input_tokens, more.cached_input_tokens);
    cache_written_tokens = sum_of_use(cache_written_tokens, more.cache_written_tokens);
    cost_nanos = sum_of_use(cost_nanos, more.cost_nanos);
    estimated = estimated || more.estimated;
    return *this;
  }
};

/// The rest of `all` without a part of it.
inline model_usage usage_less(model_usage all, const model_usage& part) {
  const auto take = [](std::uint64_t& from, std::uint64_t less) { from -= less < from ? less : from; };
  take(all.input_tokens, part.input_tokens);
  take(all.output_tokens, part.output_tokens);
  take(all.cached_input_tokens, part.cached_input_tokens);
  take(all.cache_written_tokens, part.cache_written_tokens);
  take(all.cost_nanos, part.cost_nanos);
  all.estimated = all.estimated && all != model_usage{0, 0, 0, 0, 0, true};
  return all;
}

} // namespace quell
