// The estimate is the one by which conversations are fitted into a model's context.
#include "actors/turns/expected_request.hpp"

#include <algorithm>

#include "actors/turns/context_fit.hpp"
#include "actors/turns/turn_port.hpp"
#include "controller/costs/expected_use.hpp"

namespace quell::controller::turns {

std::string expected_use_of(const std::string& agent, const integrations::model_settings& model, std::size_t tokens) {
  costs::expected_use what;
  what.agent = agent;
  what.usage.input_tokens = model.context > 0 ? std::min<std::size_t>(tokens, model.context) : tokens;
  what.usage.cost_nanos = integrations::cost_of(model.prices, what.usage);
  return costs::text_of_expected(what);
}

std::string expected_use_of(const agent_context& who, const conversation& messages) {
  auto tokens = estimated_tokens(who.agent.instructions) + estimated_tokens(messages);
  for (const auto& tool : who.tools.tools)
    tokens += estimated_tokens(tool.offer.name) + estimated_tokens(tool.offer.description) +
              estimated_tokens(tool.offer.input_schema);
  return expected_use_of(who.agent.name, who.model, tokens);
}

/// On the agent's thread, right before `open_model_call`.
void turn_port::expect_request(const conversation& messages) {
  {
    const std::lock_guard lock(guard_);
    if (first_) return; // as it was opened
  }
  expected_ = expected_use_of(who_, messages);
}

void turn_port::close_left_model_call() {
  std::optional<operation_id> left;
  model_usage used;
  {
    const std::lock_guard lock(guard_);
    if (is_requested_) left = open_call_;
    if (const auto expected = costs::read_expected(expected_of_open_)) used = expected->usage;
    used += counted_;
  }
  if (left) close_last_model_call(*left, failure_of(failure_code::interrupted, "its actor broke down"), used);
}

} // namespace quell::controller::turns
