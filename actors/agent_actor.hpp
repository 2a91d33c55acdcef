// Starts the actors that do quell's own work: reply and sub-agent actors.
#pragma once

#include <memory>

#include "actors/agent/start.hpp"

namespace caf {
class actor_system;
}

namespace quell::actors {

std::shared_ptr<agent_handle> spawn_agent(caf::actor_system& system, agent_start start);

} // namespace quell::actors
