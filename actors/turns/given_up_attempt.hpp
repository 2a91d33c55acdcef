// The cost of an attempt at a model that its call has given up.
#pragma once

#include <memory>

#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/turn_tree.hpp"
#include "controller/model_costs.hpp"

namespace quell::controller::turns {

/// Counts it at once, because the call can go on for long, and a crash would lose it. `tree`: of its turn, which then
/// knows the new sum; nullptr: it belongs to none. `reported`: its event. Any thread.
void count_attempt(agent_runtime& runtime, used_by_call used, records::event_record reported,
                   const std::shared_ptr<turn_tree>& tree);

} // namespace quell::controller::turns
