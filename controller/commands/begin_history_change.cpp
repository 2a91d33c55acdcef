// The answer waits for the disk: what it lets the change read is the whole truth then.
#include "controller/commands/begin_history_change.hpp"

#include "controller/commands/description.hpp"
#include "controller/conversations.hpp"
#include "controller/ledger.hpp"
#include "controller/refused_with.hpp"

namespace quell::controller::commands {

begin_history_change::answer apply(const begin_history_change& command, const context& with) {
  if (with.storage_low)
    return refused_with(error_code::storage_unavailable, "the state directory is low on space, so nothing is changed");
  // A turn leaves its queue a little after its end, which whoever asks for this change can have seen.
  const auto has_ended = [&](const operation_id& turn) { return !with.operations.view(turn, with.now); };
  for (const auto& scope : command.scopes)
    if (!with.talks.is_idle(scope, has_ended))
      return refused_with(error_code::turn_running,
                          "a turn of scope " + scope.text() +
                              " runs or waits; cancel it or wait for its end, then try again");
  for (const auto& scope : command.scopes) with.talks.enter_idle({command.change, scope, false, true});
  return with.operations.last_seq();
}

std::string describe(const begin_history_change& command) {
  description text(begin_history_change::name);
  text.shown("change", command.change.text()).count("scopes", command.scopes.size());
  if (!command.scopes.empty()) text.shown("scope", command.scopes.front().text());
  return text.done();
}

} // namespace quell::controller::commands
