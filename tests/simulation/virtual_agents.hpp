// Agents and tool runs in virtual time: the production behaviour (actors/agent), with mailboxes instead of actors. A
// stop is urgent and overtakes the waiting messages, as in actors/agent_actor.cpp.
#pragma once

#include <memory>

#include "actors/agent/start.hpp"
#include "tests/simulation/scheduler_life.hpp"

namespace quell::simulation {

std::shared_ptr<actors::agent_handle> spawn_virtual_agent(const std::shared_ptr<scheduler_life>& life,
                                                          actors::agent_start start);

} // namespace quell::simulation
