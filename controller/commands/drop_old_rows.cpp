// The ledger forgets what it still remembers about the rows, then they go.
#include "controller/commands/drop_old_rows.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

drop_old_rows::answer apply(const drop_old_rows& command, const context& with) {
  with.operations.forget(command.operations, command.cancels);
  for (const auto& one : command.endings) with.rows.emplace_back(one);
  for (const auto& id : command.operations) with.rows.emplace_back(records::drop_operation{id});
  for (const auto& id : command.cancels) with.rows.emplace_back(records::drop_cancel{id});
  if (command.events_up_to > 0) with.rows.emplace_back(records::drop_events{command.events_up_to});
  return true;
}

std::string describe(const drop_old_rows& command) {
  return description(drop_old_rows::name)
      .count("operations", command.operations.size())
      .count("cancels", command.cancels.size())
      .count("endings", command.endings.size())
      .count("events_up_to", command.events_up_to)
      .flag("only_to_cancels", command.gives_way == gives_way_to::cancels)
      .done();
}

} // namespace quell::controller::commands
