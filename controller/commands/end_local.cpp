// The ledger decides whether a stop came first.
#include "controller/commands/end_local.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"
#include "controller/local_operations.hpp"
#include "controller/resumed_agents.hpp"

namespace quell::controller::commands {

end_local::answer apply(const end_local& command, const context& with) {
  if (command.last_answer) with.operations.actors()->add_message(*command.last_answer, with.now);
  if (command.what == end_local::reach::with_all_below)
    resumed_of(with.operations).interrupt_below(command.id, with.now);
  const bool has_this_end = with.operations.actors()->finish_local(command.id, command.end, with.now);
  if (command.what == end_local::reach::with_its_calls)
    resumed_of(with.operations).end_calls_of_dead(command.id, with.now);
  return has_this_end;
}

std::string describe(const end_local& command) {
  description text(end_local::name);
  text.shown("operation", command.id.text()).shown("status", name_of(command.end.as));
  if (command.last_answer)
    text.shown("message", command.last_answer->id.text()).redacted("text", command.last_answer->text);
  if (command.end.error) text.shown("code", command.end.error->code).redacted("error", command.end.error->message);
  return text.redacted("result", command.end.call ? command.end.call->result : command.end.result).done();
}

} // namespace quell::controller::commands
