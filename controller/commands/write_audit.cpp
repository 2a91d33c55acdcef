// One event.
#include "controller/commands/write_audit.hpp"

#include "controller/audit.hpp"
#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

write_audit::answer apply(const write_audit& command, const context& with) {
  const auto& [action, target, by, via] = command;
  with.operations.add_event(audit_event(action, target, by.owner, via, by), with.now);
  return {};
}

std::string describe(const write_audit& command) {
  return description(write_audit::name)
      .shown("action", command.action)
      .shown("target", command.target)
      .shown("via", command.via)
      .by(command.by)
      .done();
}

} // namespace quell::controller::commands
