// One command; the core answers with the sum of the turn.
#include "actors/turns/given_up_attempt.hpp"

#include <utility>

#include "controller/commands/add_cost.hpp"
#include "controller/commands/command_request.hpp"

namespace quell::controller::turns {

void count_attempt(agent_runtime& runtime, used_by_call used, records::event_record reported,
                   const std::shared_ptr<turn_tree>& tree) {
  commands::add_cost step{{std::move(used)}};
  if (tree) step.what.turn = tree->turn();
  step.what.reported = std::move(reported);
  runtime.core.execute({std::move(step), [tree](const tree_cost& sum) {
                          if (tree && sum.calls > 0) tree->note(sum);
                        }});
}

} // namespace quell::controller::turns
