// The fleet places work there again.
#include "controller/commands/resume_worker.hpp"

#include "controller/commands/description.hpp"
#include "controller/fleet.hpp"

namespace quell::controller::commands {

resume_worker::answer apply(const resume_worker& command, const context& with) {
  return with.workers.resume(command.worker, with.now);
}

std::string describe(const resume_worker& command) {
  return description(resume_worker::name).shown("worker", command.worker).done();
}

} // namespace quell::controller::commands
