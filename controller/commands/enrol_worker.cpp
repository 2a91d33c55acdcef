// The fleet checks name and key.
#include "controller/commands/enrol_worker.hpp"

#include "controller/commands/description.hpp"
#include "controller/fleet.hpp"

namespace quell::controller::commands {

enrol_worker::answer apply(const enrol_worker& command, const context& with) {
  return with.workers.enrol(command.worker, command.public_key, command.labels, with.now);
}

std::string describe(const enrol_worker& command) {
  return description(enrol_worker::name)
      .shown("worker", command.worker)
      .shown("public_key", command.public_key)
      .count("labels", command.labels.size())
      .done();
}

} // namespace quell::controller::commands
