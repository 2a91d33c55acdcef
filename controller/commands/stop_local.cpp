// A stop that comes second changes nothing.
#include "controller/commands/stop_local.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"
#include "controller/local_operations.hpp"

namespace quell::controller::commands {

stop_local::answer apply(const stop_local& command, const context& with) {
  for (const auto& id : command.all) with.operations.actors()->stop_local(id, command.cause, command.result, with.now);
  return {};
}

std::string describe(const stop_local& command) {
  description text(stop_local::name);
  text.count("operations", command.all.size());
  if (command.all.size() == 1) text.shown("operation", command.all.front().text());
  return text.shown("cause", name_of(command.cause)).done();
}

} // namespace quell::controller::commands
