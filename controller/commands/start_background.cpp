// The count, the task and the end of the call are one transaction.
#include "controller/commands/start_background.hpp"

#include "controller/commands/create_operation.hpp"
#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

start_background::answer apply(const start_background& command, const context& with) {
  auto& local = *with.operations.actors();
  if (local.detached_tasks(command.scope) >= command.limit)
    return {failure_of(failure_code::too_many_background,
                       "as many commands run in the background as may at once (" + std::to_string(command.limit) +
                           "); end one with task_kill, or wait for one with task_wait"),
            false};
  if (auto made = with.operations.create(command.order, command.id, with.now); !made)
    return {made.error().error, false};
  return {{}, local.finish_local(command.call, command.end, with.now)};
}

std::string describe(const start_background& command) {
  return describe_create(start_background::name, command.order, command.id);
}

} // namespace quell::controller::commands
