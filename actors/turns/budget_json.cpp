// Limits and their texts.
#include "actors/turns/budget_json.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "actors/turns/json_text.hpp"
#include "controller/json/json_writer.hpp"

namespace quell::controller::turns {

namespace {

using nlohmann::json;

/// The smaller of two limits; 0 = none.
std::uint64_t smaller(std::uint64_t one, std::uint64_t other) {
  if (one == 0 || other == 0) return std::max(one, other);
  return std::min(one, other);
}

} // namespace

costs::tree_limits limits_of(const agent_budget& agent, const std::optional<costs::tree_limits>& message) {
  const costs::tree_limits limits{agent.max_cost_nanos, agent.max_tokens, agent.model_calls};
  return message ? tighter(limits, *message) : limits;
}

costs::tree_limits tighter(const costs::tree_limits& one, const costs::tree_limits& other) {
  return {smaller(one.cost_nanos, other.cost_nanos), smaller(one.tokens, other.tokens),
          smaller(one.model_calls, other.model_calls)};
}

std::string budget_text(const costs::tree_limits& limits) {
  const auto or_null = [](std::uint64_t n) { return n > 0 ? std::optional(n) : std::nullopt; };
  http::json_writer to;
  to.open_object();
  to.raw_field("max_cost", limits.cost_nanos > 0 ? json_text(static_cast<double>(limits.cost_nanos) / 1e9) : "null");
  to.field("max_tokens", or_null(limits.tokens)).field("model_calls", or_null(limits.model_calls)).close_object();
  return to.take();
}

std::optional<costs::tree_limits> budget_of(const std::string& block) {
  const json read = json::parse(block, nullptr, false);
  if (!read.is_object() || !read.contains("budget") || !read["budget"].is_object()) return std::nullopt;
  const auto& budget = read["budget"];
  const auto cost = budget.find("max_cost");
  return costs::tree_limits{cost != budget.end() && cost->is_number() ? nanos_of(cost->get<double>()).value_or(0)
                                                                      : std::uint64_t{0},
                            count_at(budget, "max_tokens"), count_at(budget, "model_calls")};
}

std::optional<std::uint64_t> nanos_of(double amount) {
  constexpr double most = 1e9; // of the currency: far below what 64 bits hold
  if (!(amount >= 0) || amount > most) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(amount * 1e9));
}

} // namespace quell::controller::turns
