// The declaration and its audit event, for work that no stop can reach.
#include "controller/commands/declare_worker_dead.hpp"

#include "controller/audit.hpp"
#include "controller/commands/description.hpp"
#include "controller/fleet.hpp"
#include "controller/refused_with.hpp"

namespace quell::controller::commands {

declare_worker_dead::answer apply(const declare_worker_dead& command, const context& with) {
  const auto& [worker, reason, by] = command;
  const auto view = with.workers.worker(worker, with.now);
  if (!view)
    return refused_with(error_code::worker_not_found,
                        "There is no worker " + worker + ". `quell worker list` shows those that exist.");
  if (view->status == worker_status::ready || view->status == worker_status::draining)
    return refused_with(error_code::worker_busy,
                        "Worker " + worker +
                            " is connected, so its work can be stopped with proof: cancel it, or "
                            "`quell worker remove " +
                            worker + " --cancel`. Nothing was declared dead.");
  auto e = audit_event("resolve", "worker " + worker, by.owner, "api", by, reason);
  e.worker = worker;
  with.operations.add_event(std::move(e), with.now);
  return with.operations.declare_worker_dead(worker, reason, with.now);
}

std::string describe(const declare_worker_dead& command) {
  return description(declare_worker_dead::name)
      .shown("worker", command.worker)
      .redacted("reason", command.reason)
      .by(command.by)
      .done();
}

} // namespace quell::controller::commands
