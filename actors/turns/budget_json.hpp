// The budget of a turn in its block, and amounts of money as JSON numbers. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "actors/turns/settings.hpp"
#include "controller/costs/limits.hpp"

namespace quell::controller::turns {

/// The limits of a turn of this agent. A message can ask for less, not for more.
costs::tree_limits limits_of(const agent_budget& agent, const std::optional<costs::tree_limits>& message);
/// Each limit the smaller of both.
costs::tree_limits tighter(const costs::tree_limits& one, const costs::tree_limits& other);
/// `{"max_cost","max_tokens","model_calls"}`; null for what has no limit.
std::string budget_text(const costs::tree_limits& limits);
/// The budget in the stored block of a turn; nullopt: it has none.
std::optional<costs::tree_limits> budget_of(const std::string& block);
/// An amount in billionths; nullopt: negative, or more than fits.
std::optional<std::uint64_t> nanos_of(double amount);

} // namespace quell::controller::turns
