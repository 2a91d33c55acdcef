// Starts the actor in which a component of the turn scheduler takes its steps.
#pragma once

#include <memory>

#include "actors/interfaces.hpp"
#include "actors/turns/step_loop.hpp"

namespace caf {
class actor_system;
}

namespace quell::actors {

/// The loop over such an actor. `system` must live until its `stop`.
std::shared_ptr<controller::turns::step_loop> spawn_step_loop(caf::actor_system& system);

} // namespace quell::actors
