// Without the operation its message is not written.
#include "controller/commands/begin_sub_agent.hpp"

#include "controller/commands/create_operation.hpp"
#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"
#include "controller/local_operations.hpp"

namespace quell::controller::commands {

begin_sub_agent::answer apply(const begin_sub_agent& command, const context& with) {
  auto made = with.operations.create(command.order, command.id, with.now);
  if (made) with.operations.actors()->add_message(command.task, with.now);
  return made;
}

std::string describe(const begin_sub_agent& command) {
  return describe_create(begin_sub_agent::name, command.order, command.id);
}

} // namespace quell::controller::commands
