// The agent's inputs: each one goes to the turn, and the agent performs the effects that the turn returns.
#include "actors/agent/agent.hpp"

#include <algorithm>

namespace quell::actors {

agent::agent(turn_limits limits, const result_texts& texts, agent_port& port, agent_loop& loop)
    : port_(port), loop_(loop), texts_(texts),
      turn_(
          limits, [&port](const tool_call& call) { return port.traits(call); }, texts),
      post_(loop.poster()) {}

void agent::begin(conversation so_far) { take(turn_.begin(std::move(so_far), loop_.now())); }

void agent::resume(conversation so_far, const std::vector<tool_result>& known, std::vector<operation_id> calls,
                   turn_past past) {
  const auto* last = so_far.empty() ? nullptr : std::get_if<assistant_message>(&so_far.back());
  for (std::size_t i = 0; last && i < calls.size() && i < last->calls.size(); ++i) {
    const bool is_answered =
        std::any_of(known.begin(), known.end(), [&](const tool_result& r) { return r.call == last->calls[i].call; });
    auto& call = calls_[static_cast<call_number>(i + 1)] = {calls[i], last->calls[i], is_answered};
    for (const auto& met : past.met)
      if (met.call == call.what.call && met.input) change_input(call, *met.input);
  }
  take(turn_.resume(std::move(so_far), known, std::move(past), loop_.now()));
}

void agent::stop(abort_reason why, const std::string& reason) {
  if (is_over()) return;
  stop_reason_ = reason;
  // Closes the stream at once, even if earlier effects still wait to be stored.
  hang_up();
  for (const auto& [number, call] : calls_)
    if (!call.is_answered) loop_.stop_tool(number, reason);
  take(turn_.stop(why, loop_.now()));
}

void agent::call_stopped(const operation_id& call, const std::string& reason) {
  const auto number = number_of(call);
  if (!number) {
    if (is_held_up_) stopped_early_.emplace_back(call, reason); // it can be a call of the answer being stored
    return;
  }
  loop_.stop_tool(*number, reason);
  const known_call& known = calls_.at(*number);
  if (known.is_answered || is_over()) return;
  const auto views = turn_.calls();
  const bool began = std::any_of(views.begin(), views.end(), [&](const turn::call_view& v) {
    return v.what.call == known.what.call && v.started.has_value();
  });
  take(turn_.call_cancelled(
      *number, {known.what.call, known.what.name, false, true, began ? texts_.cancelled() : texts_.not_started()},
      loop_.now()));
}

void agent::tool_over(call_number number, const tool_result& stands) {
  known_call* const known = call_of(number);
  if (!known) return;
  known->is_answered = true;
  if (stands.cancelled) take(turn_.call_cancelled(number, stands, loop_.now()));
  take(turn_.tool_ended(number, stands.ok, stands.result, loop_.now()));
}

void agent::tool_broke(call_number number) {
  const known_call* const known = call_of(number);
  if (!known) return;
  const auto why =
      texts_.failed(failure_code::interrupted, "The tool broke down inside quell: what it did until then is unknown.");
  port_.close_call(known->operation, {known->what.call, known->what.name, false, false, why},
                   back<tool_result>([this, number](const tool_result& stands) { tool_over(number, stands); }));
}

void agent::human_decided(const operation_id& call, approval_outcome how, const std::string& reason,
                          const std::optional<std::string>& input) {
  const auto number = number_of(call);
  if (!number) return;
  known_call& known = calls_.at(*number);
  if (how != approval_outcome::approved) known.is_answered = true; // with the decision
  if (how == approval_outcome::approved && input) change_input(known, *input);
  take(turn_.human_decided(*number, how, reason, loop_.now(), input));
}

void agent::change_input(known_call& call, const std::string& input) {
  call.what.input = input;
  port_.input_changed(call.what);
}

void agent::call_waits(const operation_id& call, human_wait what) {
  if (const auto number = number_of(call)) turn_.call_waits(*number, what, loop_.now());
}

void agent::tick() { take(turn_.tick(loop_.now())); }

void agent::on_model_event(std::uint32_t number, model_event event) {
  if (number != call_number_ || !model_call_) return;
  if (const auto* end = std::get_if<model_events::finished>(&event)) close_model_call({}, end->usage);
  if (const auto* end = std::get_if<model_events::failed>(&event)) close_model_call(end->why, end->usage);
  take(turn_.on_model_event(number, std::move(event), loop_.now()));
}

void agent::close_model_call(std::optional<fault> failed, const model_usage& usage) {
  if (!model_call_) return;
  answer_usage_ = usage;
  if (failed || !turn_.answer_has_calls())
    port_.close_last_model_call(*model_call_, std::move(failed), usage);
  else
    port_.close_model_call(*model_call_, std::move(failed), usage);
  model_call_.reset();
  stream_.reset();
}

agent::known_call* agent::call_of(call_number number) {
  const auto at = calls_.find(number);
  return at == calls_.end() ? nullptr : &at->second;
}

std::optional<call_number> agent::number_of(const operation_id& call) const {
  for (const auto& [number, known] : calls_)
    if (known.operation == call) return number;
  return std::nullopt;
}

} // namespace quell::actors
