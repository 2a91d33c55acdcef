// Creates through the ledger.
#include "controller/commands/create_local.hpp"

#include "controller/commands/create_operation.hpp"
#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

create_local::answer apply(const create_local& command, const context& with) {
  return with.operations.create(command.order, command.id, with.now);
}

std::string describe(const create_local& command) {
  return describe_create(create_local::name, command.order, command.id);
}

} // namespace quell::controller::commands
