// Calls that were stopped while no agent was there end here, too.
#include "controller/commands/begin_turn.hpp"

#include <algorithm>

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"
#include "controller/local_operations.hpp"
#include "controller/resumed_agents.hpp"

namespace quell::controller::commands {

begin_turn::answer apply(const begin_turn& command, const context& with) {
  auto& local = *with.operations.actors();
  auto& resumed = resumed_of(with.operations);
  turn_begun answer;
  const auto seen = with.operations.view(command.turn, with.now);
  answer.began = with.now.boot;
  if (seen && seen->hot.started_at && *seen->hot.started_at < with.now.wall)
    answer.began = with.now.boot - (with.now.wall - *seen->hot.started_at);
  answer.used = resumed.used_by(command.turn);
  answer.may_run = local.start_local(command.turn, with.now).has_value();
  if (!answer.may_run) {
    resumed.interrupt_below(command.turn, with.now);
    for (const auto& call : command.calls) local.finish_local(call, {status::failed}, with.now);
    local.finish_local(command.turn, {status::failed}, with.now);
    return answer;
  }
  const bool counts = !command.resumes || resumed.resume(command.turn);
  if (command.started_event && counts) with.operations.add_event(*command.started_event, with.now);
  for (const auto& call : command.unknown) {
    resumed.interrupt_below(call, with.now);
    local.finish_local(call, command.unknown_end, with.now);
  }
  for (const auto& call : command.calls) {
    const auto view = with.operations.view(call, with.now);
    const bool is_unknown = std::find(command.unknown.begin(), command.unknown.end(), call) != command.unknown.end();
    const bool is_answered =
        !view && std::find(command.asking.begin(), command.asking.end(), call) != command.asking.end();
    if (is_unknown || is_answered || (view && view->hot.now != status::cancelling)) continue;
    resumed.interrupt_below(call, with.now);
    if (view) local.finish_local(call, {status::failed}, with.now);
    answer.stopped.push_back(call);
  }
  if (command.first_call) answer.first_call = apply(*command.first_call, with);
  return answer;
}

std::string describe(const begin_turn& command) {
  return description(begin_turn::name)
      .shown("turn", command.turn.text())
      .count("calls", command.calls.size())
      .count("unknown", command.unknown.size())
      .flag("resumes", command.resumes)
      .flag("opens_model_call", command.first_call.has_value())
      .done();
}

} // namespace quell::controller::commands
