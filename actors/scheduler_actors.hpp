// The actors with which a turn scheduler works.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/turns/turn_scheduler.hpp"

namespace caf {
class actor_system;
}

namespace quell::actors {

/// Gives the scheduler its executors of background reads, its agents, which are children of `above`, the
/// loops of its components, and its MCP host.
/// `system` must live until the scheduler's `stop`.
void use_actors(caf::actor_system& system, const supervisor_actor& above,
                controller::turns::turn_scheduler_options& scheduler);

} // namespace quell::actors
