// The ledger counts by the new numbers; the next placement finds who may start now.
#include "controller/commands/limit_slots.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

limit_slots::answer apply(const limit_slots& command, const context& with) {
  with.operations.limit_slots(command.of_guilds);
  return {};
}

std::string describe(const limit_slots& command) {
  return description(limit_slots::name).count("guilds", command.of_guilds.size()).done();
}

} // namespace quell::controller::commands
