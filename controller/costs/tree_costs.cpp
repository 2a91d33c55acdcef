// One account for each live turn that has asked a model.
#include "controller/costs/tree_costs.hpp"

namespace quell::controller::costs {

namespace {

std::optional<std::string> used_up(const model_usage& used, const tree_limits& limits) {
  const std::string beginning = "the turn, with its sub-agents, has used ";
  if (limits.cost_nanos > 0 && used.cost_nanos >= limits.cost_nanos)
    return beginning + amount_text(used.cost_nanos) + " of its " + amount_text(limits.cost_nanos) +
           " (budget.max_cost)";
  if (limits.tokens > 0 && tokens_of(used) >= limits.tokens)
    return beginning + std::to_string(tokens_of(used)) + " of its " + std::to_string(limits.tokens) +
           " tokens (budget.max_tokens)";
  return std::nullopt;
}

} // namespace

const tree_costs::account* tree_costs::find(const operation_id& turn) const {
  const auto at = accounts_.find(turn);
  return at == accounts_.end() ? nullptr : &at->second;
}

std::optional<std::string> tree_costs::why_exhausted(const operation_id& turn, const tree_limits& limits) const {
  const account* const of = find(turn);
  if (of == nullptr) return std::nullopt;
  if (auto why = used_up(of->used, limits)) return why;
  if (limits.model_calls > 0 && of->calls >= limits.model_calls)
    return "the turn, with its sub-agents, has made " + std::to_string(of->calls) +
           " model calls and is still not done (budget.model_calls); raise the agent's budget, or say more exactly "
           "what is wanted";
  return std::nullopt;
}

std::optional<std::string> tree_costs::why_used_up(const operation_id& turn) const {
  const account* const of = find(turn);
  return of == nullptr ? std::nullopt : used_up(of->used, of->limits);
}

const tree_costs::account& tree_costs::begin_call(const operation_id& turn, const tree_limits& limits) {
  account& of = accounts_[turn];
  of.limits = limits;
  ++of.calls;
  ++of.open;
  return of;
}

const tree_costs::account& tree_costs::end_call(const operation_id& turn, const model_usage& used) {
  account& of = accounts_[turn];
  if (of.open > 0) --of.open;
  return add(turn, used);
}

const tree_costs::account& tree_costs::add(const operation_id& turn, const model_usage& used) {
  account& of = accounts_[turn];
  of.used += used;
  return of;
}

std::optional<tree_costs::account> tree_costs::close(const operation_id& turn) {
  const auto at = accounts_.find(turn);
  if (at == accounts_.end()) return std::nullopt;
  const account of = at->second;
  accounts_.erase(at);
  return of;
}

} // namespace quell::controller::costs
