// Nothing is decided while nobody could act on the decision.
#include "controller/commands/decide_call.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

decide_call::answer apply(const decide_call& command, const context& with) {
  const auto seen = with.operations.view(command.call, with.now);
  if (!command.has_agent && seen && seen->hot.now == status::paused) return std::nullopt;
  return with.operations.actors()->decide(command.call, command.what, command.denied_result, with.now);
}

std::string describe(const decide_call& command) {
  return description(decide_call::name)
      .shown("call", command.call.text())
      .flag("approved", command.what.is_approved())
      .redacted("reason", command.what.reason)
      .redacted("input", command.what.input)
      .shown("by", command.what.by.id)
      .done();
}

} // namespace quell::controller::commands
