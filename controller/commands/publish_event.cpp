// One event.
#include "controller/commands/publish_event.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

publish_event::answer apply(const publish_event& command, const context& with) {
  with.operations.add_event(command.event, with.now);
  return {};
}

std::string describe(const publish_event& command) {
  description text(publish_event::name);
  text.shown("type", text_of(command.event));
  if (command.event.operation) text.shown("operation", command.event.operation->text());
  return text.redacted("data", command.event.data).done();
}

} // namespace quell::controller::commands
