// Starts the actors that do quell's own work: reply and sub-agent actors.
#pragma once

#include <memory>

#include "actors/agent/start.hpp"
#include "actors/interfaces.hpp"

namespace quell::actors {

/// `start.over` is called once, whatever becomes of the actor, unless the process ends it.
agent_actor spawn_agent_actor(const supervisor_actor& above, agent_start start);
/// The same; the handle hides the actor.
std::shared_ptr<agent_handle> spawn_agent(const supervisor_actor& above, agent_start start);

} // namespace quell::actors
