// The ledger knows the sums.
#include "controller/commands/open_model_call.hpp"

#include "controller/commands/create_operation.hpp"
#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

open_model_call::answer apply(const open_model_call& command, const context& with) {
  return with.operations.costs()->open_model_call(command.order, command.id, command.turn, command.limits, with.now);
}

std::string describe(const open_model_call& command) {
  return describe_create(open_model_call::name, command.order, command.id);
}

} // namespace quell::controller::commands
