// Starts the parent of all reply and sub-agent actors.
#pragma once

#include "actors/interfaces.hpp"

namespace caf {
class actor_system;
}

namespace quell::actors {

/// One for each process. It keeps no agent alive, and no agent dies with it: with its own end it only stops to report.
supervisor_actor spawn_supervisor(caf::actor_system& system);

} // namespace quell::actors
