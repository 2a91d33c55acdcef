// The ledger decides whether a stop came first.
#include "controller/commands/begin_call.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"
#include "controller/local_operations.hpp"

namespace quell::controller::commands {

begin_call::answer apply(const begin_call& command, const context& with) {
  return with.operations.actors()->start_local(command.call, with.now).has_value();
}

std::string describe(const begin_call& command) {
  return description(begin_call::name).shown("call", command.call.text()).done();
}

} // namespace quell::controller::commands
