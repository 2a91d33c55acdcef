// A turn that has ended meanwhile is not noted, because nothing would forget it.
#include "controller/commands/note_turn_begun.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

note_turn_begun::answer apply(const note_turn_begun& command, const context& with) {
  if (with.operations.view(command.turn, with.now))
    with.talks.note_begun(command.turn, command.owner, command.scope, command.what, command.agent, command.way);
  return {};
}

std::string describe(const note_turn_begun& command) {
  return description(note_turn_begun::name)
      .shown("turn", command.turn.text())
      .shown("owner", command.owner)
      .shown("scope", command.scope.text())
      .flag("refused_stop", command.what == turns::turn_of::refused_stop)
      .flag("by_chat", command.way == turns::brought_by::chat)
      .done();
}

} // namespace quell::controller::commands
