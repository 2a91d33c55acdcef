// How an agent's settings and its model's add up, and what tokens cost.
#include <algorithm>
#include <cmath>

#include "integrations/models/model.hpp"

namespace quell::integrations {

answer_settings merged(const answer_settings& over, const answer_settings& under, provider whose) {
  answer_settings both = under;
  if (over.temperature) both.temperature = over.temperature;
  if (over.top_p) both.top_p = over.top_p;
  if (!over.tool_choice.empty()) both.tool_choice = over.tool_choice;
  if (over.json || !over.schema.empty()) {
    both.json = over.json;
    both.schema = over.schema;
  }
  if (over.thinking_tokens || over.adaptive_thinking) {
    both.thinking_tokens = over.thinking_tokens;
    both.adaptive_thinking = over.adaptive_thinking;
  }
  if (!over.effort.empty()) both.effort = over.effort;
  if (whose != provider::anthropic) {
    both.thinking_tokens.reset();
    both.adaptive_thinking = false;
  }
  return both;
}

std::uint64_t cost_of(const token_prices& prices, const model_usage& usage) {
  const auto cached = std::min(usage.cached_input_tokens, usage.input_tokens);
  const auto written = std::min(usage.cache_written_tokens, usage.input_tokens - cached);
  const auto fresh = usage.input_tokens - cached - written;
  // A price per million tokens is that many thousand billionths per token.
  const double nanos = 1000 * (static_cast<double>(fresh) * prices.input +
                               static_cast<double>(cached) * prices.cached.value_or(prices.input) +
                               static_cast<double>(written) * prices.written.value_or(prices.input) +
                               static_cast<double>(usage.output_tokens) * prices.output);
  return nanos < 0 ? 0 : static_cast<std::uint64_t>(std::llround(std::min(nanos, 1e18)));
}

} // namespace quell::integrations
