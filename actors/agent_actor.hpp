// Starts the actors that do quell's own work: reply and sub-agent actors.
#pragma once

#include <memory>

#include "actors/agent/start.hpp"
#include "actors/interfaces.hpp"
#include "protocol/scope.hpp"

namespace caf {
class scheduled_actor;
}

namespace quell::actors {

/// Any thread. The agent begins below the actor of `scope`, its conversation. `start.over` is called once, whatever
/// becomes of it, unless the process ends it.
std::shared_ptr<agent_handle> spawn_agent(const supervisor_actor& above, scope_path scope, agent_start start);

/// The actor itself, linked to `above`, with which it dies. It uses `start` up.
agent_actor spawn_agent_actor(caf::scheduled_actor& above, std::shared_ptr<agent_start> start);

} // namespace quell::actors
