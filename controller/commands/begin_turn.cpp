// Calls that were stopped while no agent was there end here, too.
#include "controller/commands/begin_turn.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"
#include "controller/local_operations.hpp"

namespace quell::controller::commands {

begin_turn::answer apply(const begin_turn& command, const context& with) {
  auto& local = *with.operations.actors();
  turn_begun answer;
  const auto seen = with.operations.view(command.turn, with.now);
  answer.began = with.now.boot;
  if (seen && seen->hot.started_at && *seen->hot.started_at < with.now.wall)
    answer.began = with.now.boot - (with.now.wall - *seen->hot.started_at);
  answer.may_run = local.start_local(command.turn, with.now).has_value();
  if (!answer.may_run) {
    for (const auto& call : command.calls) local.finish_local(call, {status::failed}, with.now);
    local.finish_local(command.turn, {status::failed}, with.now);
    return answer;
  }
  if (command.started_event) with.operations.add_event(*command.started_event, with.now);
  for (const auto& call : command.calls) {
    const auto view = with.operations.view(call, with.now);
    if (view && view->hot.now != status::cancelling) continue;
    if (view) local.finish_local(call, {status::failed}, with.now);
    answer.stopped.push_back(call);
  }
  return answer;
}

std::string describe(const begin_turn& command) {
  return description(begin_turn::name)
      .shown("turn", command.turn.text())
      .count("calls", command.calls.size())
      .flag("resumes", !command.started_event)
      .done();
}

} // namespace quell::controller::commands
