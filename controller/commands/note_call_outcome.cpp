// The outcome can arrive before the end that it is kept beside.
#include "controller/commands/note_call_outcome.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"
#include "controller/local_operations.hpp"

namespace quell::controller::commands {

note_call_outcome::answer apply(const note_call_outcome& command, const context& with) {
  const auto seen = with.operations.view(command.call, with.now);
  if (seen && !is_terminal(seen->hot.now) && command.which == noted_call::ended) return false;
  with.operations.actors()->note_outcome(command.call, command.json);
  return true;
}

std::string describe(const note_call_outcome& command) {
  return description(note_call_outcome::name)
      .shown("call", command.call.text())
      .redacted("outcome", command.json)
      .flag("also_if_it_goes_on", command.which == noted_call::any)
      .done();
}

} // namespace quell::controller::commands
