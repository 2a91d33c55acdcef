// Each interrupted turn is returned once.
#include "controller/commands/pick_up_turns.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

pick_up_turns::answer apply(const pick_up_turns& command, const context& with) {
  (void)command;
  auto& local = *with.operations.actors();
  return {local.open_turns(), local.interrupted()};
}

std::string describe(const pick_up_turns& command) {
  (void)command;
  return description(pick_up_turns::name).done();
}

} // namespace quell::controller::commands
