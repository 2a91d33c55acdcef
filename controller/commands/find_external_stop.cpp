// The ledger looks whether a stop covers it.
#include "controller/commands/find_external_stop.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

find_external_stop::answer apply(const find_external_stop& command, const context& with) {
  return with.operations.externals()->signal_of(command.id, command.by, with.now);
}

std::string describe(const find_external_stop& command) {
  return description(find_external_stop::name).shown("operation", command.id.text()).by(command.by).done();
}

} // namespace quell::controller::commands
