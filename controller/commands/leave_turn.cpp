// The answer waits for the disk, because the row of the next turn can have been accepted in this very moment.
#include "controller/commands/leave_turn.hpp"

#include "controller/commands/description.hpp"

namespace quell::controller::commands {

leave_turn::answer apply(const leave_turn& command, const context& with) {
  return with.talks.leave(command.turn, command.scope);
}

std::string describe(const leave_turn& command) {
  return description(leave_turn::name).shown("turn", command.turn.text()).shown("scope", command.scope.text()).done();
}

} // namespace quell::controller::commands
