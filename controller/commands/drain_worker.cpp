// The fleet drains the worker; its stops come back through the ledger.
#include "controller/commands/drain_worker.hpp"

#include "controller/commands/description.hpp"
#include "controller/fleet.hpp"

namespace quell::controller::commands {

drain_worker::answer apply(const drain_worker& command, const context& with) {
  return with.workers.drain(command.worker, command.reason, command.deadline, command.tasks, with.now, command.by);
}

std::string describe(const drain_worker& command) {
  description text(drain_worker::name);
  text.shown("worker", command.worker).redacted("reason", command.reason);
  if (command.deadline) text.count("deadline_ms", static_cast<std::uint64_t>(command.deadline->count()));
  text.flag("cancel", command.tasks == worker_tasks::are_cancelled);
  if (command.by) text.shown("by", command.by->id);
  return text.done();
}

} // namespace quell::controller::commands
