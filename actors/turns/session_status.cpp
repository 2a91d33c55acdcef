// `session_status`: the progress of a turn so far, so that the model can reason about time.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "actors/turns/turn_port.hpp"

namespace quell::controller::turns {

namespace {

const char* name_of_state(actors::turn::call_state s) {
  static constexpr std::array names{"announced", "waits_for_approval", "running", "answered", "timed_out", "cancelled"};
  return names[static_cast<std::size_t>(s)];
}

std::int64_t ms_between(boot_time from, boot_time to) {
  return std::chrono::duration_cast<milliseconds>(to - from).count();
}

nlohmann::json left_of(std::uint64_t limit, std::uint64_t used) {
  return {{"limit", limit}, {"used", used}, {"left", limit - std::min(limit, used)}};
}

/// null instead of a number for a budget without a limit.
nlohmann::json left_or_null(std::uint64_t limit, std::uint64_t used) {
  if (limit == 0) return {{"limit", nullptr}, {"used", used}, {"left", nullptr}};
  return left_of(limit, used);
}

} // namespace

std::string session_status(const actors::turn& so_far, const session_facts& facts, boot_time now) {
  auto calls = nlohmann::json::array();
  for (const auto& c : so_far.calls()) {
    nlohmann::json shown = {{"call", c.what.call}, {"name", c.what.name}, {"state", name_of_state(c.state)}};
    if (c.started) shown["elapsed_ms"] = ms_between(*c.started, c.ended.value_or(now));
    calls.push_back(std::move(shown));
  }
  const auto& usage = facts.used.usage;
  const auto& budget = facts.budget;
  const auto& limits = facts.limits;
  const double nanos = 1e9;
  const auto money = [&](std::uint64_t n) { return static_cast<double>(n) / nanos; };
  nlohmann::json cost = {{"limit", nullptr}, {"used", money(usage.cost_nanos)}, {"left", nullptr}};
  if (limits.cost_nanos > 0) {
    cost["limit"] = money(limits.cost_nanos);
    cost["left"] = money(limits.cost_nanos - std::min(limits.cost_nanos, usage.cost_nanos));
  }
  const nlohmann::json status = {
      {"elapsed_ms", facts.elapsed.count()},
      {"budget",
       {{"model_calls", left_or_null(limits.model_calls, facts.used.calls)},
        {"cost", std::move(cost)},
        {"tokens", left_or_null(limits.tokens, costs::tokens_of(usage))},
        {"time_ms", left_or_null(static_cast<std::uint64_t>(budget.timeout.count()),
                                 static_cast<std::uint64_t>(facts.elapsed.count()))},
        {"sub_agents_at_once", left_of(budget.width, facts.sub_agents)},
        {"sub_agents_of_the_turn_at_once", left_of(facts.tree_width, facts.tree_sub_agents)},
        {"sub_agent_levels", {{"left", budget.depth}}}}},
      {"model_calls", so_far.model_calls()},
      {"tool_calls", so_far.tool_calls()},
      {"calls", std::move(calls)},
      {"usage", {{"input_tokens", usage.input_tokens}, {"output_tokens", usage.output_tokens}}}};
  return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace quell::controller::turns
