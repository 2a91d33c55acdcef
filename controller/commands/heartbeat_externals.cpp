// Renews leases; the answer carries the stops.
#include "controller/commands/heartbeat_externals.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

heartbeat_externals::answer apply(const heartbeat_externals& command, const context& with) {
  return with.operations.externals()->heartbeat(command.order, with.now);
}

std::string describe(const heartbeat_externals& command) {
  return description(heartbeat_externals::name)
      .count("operations", command.order.operations.size())
      .shown("session", command.order.session.value_or(""))
      .by(command.order.by)
      .done();
}

} // namespace quell::controller::commands
