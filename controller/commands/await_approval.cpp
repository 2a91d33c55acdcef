// The call pauses with its event, unless it is being stopped.
#include "controller/commands/await_approval.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"
#include "controller/local_operations.hpp"

namespace quell::controller::commands {

await_approval::answer apply(const await_approval& command, const context& with) {
  auto& local = *with.operations.actors();
  if (!local.start_local(command.call, with.now) || !local.pause(command.call, with.now)) return false;
  with.operations.add_event(command.event, with.now);
  return true;
}

std::string describe(const await_approval& command) {
  return description(await_approval::name).shown("call", command.call.text()).done();
}

} // namespace quell::controller::commands
