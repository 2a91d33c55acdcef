// The change is in the audit; the fleet tells the workers.
#include "controller/commands/announce_controller_key.hpp"

#include "controller/audit.hpp"
#include "controller/commands/description.hpp"
#include "controller/fleet.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

announce_controller_key::answer apply(const announce_controller_key& command, const context& with) {
  if (command.changed)
    with.operations.add_event(audit_event("controller_key", "controller", {"quelld", "quelld"}, "state directory", {},
                                          "quelld goes by the key " + *command.changed),
                              with.now);
  with.workers.next_controller_key(command.next, with.now);
  return {};
}

std::string describe(const announce_controller_key& command) {
  return description(announce_controller_key::name)
      .shown("next", command.next)
      .shown("changed", command.changed.value_or(""))
      .done();
}

} // namespace quell::controller::commands
