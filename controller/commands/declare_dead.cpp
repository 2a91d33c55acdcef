// The declaration and its audit event.
#include "controller/commands/declare_dead.hpp"

#include "controller/audit.hpp"
#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

declare_dead::answer apply(const declare_dead& command, const context& with) {
  const auto& [id, reason, by] = command;
  auto answer = with.operations.declare_dead(id, reason, by, with.now);
  if (answer) {
    auto e = audit_event("resolve", "operation " + id.text(), by.owner, "api", by, reason);
    e.operation = id;
    with.operations.add_event(std::move(e), with.now);
  }
  return answer;
}

std::string describe(const declare_dead& command) {
  return description(declare_dead::name)
      .shown("operation", command.operation.text())
      .redacted("reason", command.reason)
      .by(command.by)
      .done();
}

} // namespace quell::controller::commands
