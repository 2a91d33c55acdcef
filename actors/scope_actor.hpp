// Starts the actor of a scope, in which turns or sub-agents run.
#pragma once

#include <functional>
#include <memory>

#include "actors/agent/start.hpp"
#include "actors/interfaces.hpp"

namespace caf {
class scheduled_actor;
}

namespace quell::actors {

/// Starts an agent below a scope, as `spawn_agent_actor` does.
using agent_maker = std::function<agent_actor(caf::scheduled_actor& above, std::shared_ptr<agent_start> start)>;

/// Linked to `above`, which is the actor behind `supervisor`: it dies with it. Its agents die with it.
scope_actor spawn_scope(caf::scheduled_actor& above, const supervisor_actor& supervisor, agent_maker make);

} // namespace quell::actors
