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
nlohmann::json time_left(milliseconds limit, milliseconds used) {
  if (limit.count() == 0) return {{"limit", nullptr}, {"used", used.count()}, {"left", nullptr}};
  return left_of(static_cast<std::uint64_t>(limit.count()), static_cast<std::uint64_t>(used.count()));
}

} // namespace

std::string session_status(const actors::turn& so_far, const session_facts& facts, boot_time now) {
  auto calls = nlohmann::json::array();
  for (const auto& c : so_far.calls()) {
    nlohmann::json shown = {{"call", c.what.call}, {"name", c.what.name}, {"state", name_of_state(c.state)}};
    if (c.started) shown["elapsed_ms"] = ms_between(*c.started, c.ended.value_or(now));
    calls.push_back(std::move(shown));
  }
  const auto& usage = so_far.usage();
  const auto& budget = facts.budget;
  const nlohmann::json status = {
      {"elapsed_ms", facts.elapsed.count()},
      {"budget",
       {{"model_calls", left_of(budget.model_calls, so_far.model_calls())},
        {"time_ms", time_left(budget.timeout, facts.elapsed)},
        {"sub_agents_at_once", left_of(budget.width, facts.sub_agents)},
        {"sub_agent_levels", {{"left", budget.depth}}}}},
      {"model_calls", so_far.model_calls()},
      {"tool_calls", so_far.tool_calls()},
      {"calls", std::move(calls)},
      {"usage", {{"input_tokens", usage.input_tokens}, {"output_tokens", usage.output_tokens}}}};
  return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace quell::controller::turns
