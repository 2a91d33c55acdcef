// The ledger looks whether stops cover them.
#include "controller/commands/find_session_stops.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

find_session_stops::answer apply(const find_session_stops& command, const context& with) {
  return with.operations.externals()->signals_of(command.session, command.by, with.now);
}

std::string describe(const find_session_stops& command) {
  return description(find_session_stops::name).shown("session", command.session).by(command.by).done();
}

} // namespace quell::controller::commands
