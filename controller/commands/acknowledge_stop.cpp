// Words come before the event about them.
#include "controller/commands/acknowledge_stop.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"
#include "controller/local_operations.hpp"

namespace quell::controller::commands {

acknowledge_stop::answer apply(const acknowledge_stop& command, const context& with) {
  for (const auto& one : command.all) {
    if (one.words) with.operations.actors()->add_message(*one.words, with.now);
    with.operations.add_event(one.event, with.now);
  }
  if (command.is_last) with.operations.actors()->acknowledged(command.stop);
  return {};
}

std::string describe(const acknowledge_stop& command) {
  description text(acknowledge_stop::name);
  text.shown("message", command.stop.text()).count("told", command.all.size());
  for (const auto& one : command.all) text.redacted("text", one.words ? one.words->text : "");
  return text.flag("last", command.is_last).done();
}

} // namespace quell::controller::commands
