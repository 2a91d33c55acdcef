// The fleet removes the worker, now or when its work has ended.
#include "controller/commands/remove_worker.hpp"

#include "controller/commands/description.hpp"
#include "controller/fleet.hpp"

namespace quell::controller::commands {

remove_worker::answer apply(const remove_worker& command, const context& with) {
  return with.workers.remove(command.worker, command.tasks, with.now, command.by);
}

std::string describe(const remove_worker& command) {
  description text(remove_worker::name);
  text.shown("worker", command.worker).flag("cancel", command.tasks == worker_tasks::are_cancelled);
  if (command.by) text.shown("by", command.by->id);
  return text.done();
}

} // namespace quell::controller::commands
