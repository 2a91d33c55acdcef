// The ledger decides whether a stop came first.
#include "controller/commands/store_summary.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

store_summary::answer apply(const store_summary& command, const context& with) {
  const auto closed = with.operations.costs()->close_model_call(command.call, with.now);
  if (!closed.has_this_end) return closed;
  if (command.summary) with.operations.actors()->add_message(*command.summary, with.now);
  if (command.event) with.operations.add_event(*command.event, with.now);
  return closed;
}

std::string describe(const store_summary& command) {
  description text(store_summary::name);
  text.shown("call", command.call.call.text()).shown("model", command.call.used.model);
  if (command.summary) text.shown("scope", command.summary->scope.text()).redacted("text", command.summary->text);
  return text.done();
}

} // namespace quell::controller::commands
