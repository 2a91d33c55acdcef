// In the order in which they were asked for. Each interrupted turn is returned once.
#include "controller/commands/pick_up_turns.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"
#include "controller/local_operations.hpp"
#include "controller/resumed_agents.hpp"

namespace quell::controller::commands {

pick_up_turns::answer apply(const pick_up_turns& command, const context& with) {
  (void)command;
  auto& local = *with.operations.actors();
  picked_up found;
  for (const auto& open : local.open_turns()) {
    turns::queued_turn turn{open.id, open.scope, open.has_started};
    if (with.talks.enter(turn)) found.first.push_back(turn);
    if (turn.resumes) found.used.emplace_back(turn.turn, resumed_of(with.operations).used_by(turn.turn));
    found.open.push_back(std::move(turn));
  }
  found.interrupted = local.interrupted();
  return found;
}

std::string describe(const pick_up_turns& command) {
  (void)command;
  return description(pick_up_turns::name).done();
}

} // namespace quell::controller::commands
