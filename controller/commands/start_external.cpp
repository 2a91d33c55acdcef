// The ledger starts the operation's lease.
#include "controller/commands/start_external.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

start_external::answer apply(const start_external& command, const context& with) {
  return with.operations.externals()->start_external(command.operation, command.by, with.now);
}

std::string describe(const start_external& command) {
  return description(start_external::name).shown("operation", command.operation.text()).by(command.by).done();
}

} // namespace quell::controller::commands
