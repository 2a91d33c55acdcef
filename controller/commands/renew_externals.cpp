// Renews leases; the answer carries the stops.
#include "controller/commands/renew_externals.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

renew_externals::answer apply(const renew_externals& command, const context& with) {
  return with.operations.externals()->heartbeat(command.order, with.now);
}

std::string describe(const renew_externals& command) {
  return description(renew_externals::name)
      .count("operations", command.order.operations.size())
      .shown("session", command.order.session.value_or(""))
      .by(command.order.by)
      .done();
}

} // namespace quell::controller::commands
