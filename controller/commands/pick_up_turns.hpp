// After a restart: which turns wait to begin or wait for a human, and which the restart has interrupted. They enter the
// queues of their scopes before any new message.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/commands/context.hpp"
#include "controller/conversations.hpp"
#include "controller/model_costs.hpp"

namespace quell::controller::commands {

struct picked_up {
  std::vector<turns::queued_turn> open;  ///< oldest first
  std::vector<turns::queued_turn> first; ///< those that may begin now
  std::vector<operation_id> interrupted; ///< turns and sub-agents, oldest first
  /// Of `open`: those that go on, with what they have used.
  std::vector<std::pair<operation_id, tree_cost>> used;
};

struct pick_up_turns {
  using answer = picked_up;
  static constexpr std::string_view name = "pick_up_turns";
};

pick_up_turns::answer apply(const pick_up_turns& command, const context& with);
std::string describe(const pick_up_turns& command);

} // namespace quell::controller::commands
