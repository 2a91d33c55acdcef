// Calls of remote agents that were cancelled while quelld ended: whoever works on such a call is told to stop by the
// next life, which knows its task by the name that the store has. If the agent was lost, it is asked what came of it.
#pragma once

#include <memory>

#include "actors/turns/agent_runtime.hpp"
#include "controller/store_reader.hpp"

namespace quell::controller::turns {

/// At the start of a life. Also looks after the calls that go on until an agent has them, for a stop can come first.
/// Reads the store, so call it on a thread that can wait.
void tell_left_stops(const std::shared_ptr<agent_runtime>& runtime, store_reader& store);

} // namespace quell::controller::turns
