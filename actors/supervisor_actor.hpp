// Starts the parent of all scope actors.
#pragma once

#include <functional>

#include "actors/interfaces.hpp"

namespace caf {
class actor_system;
class scheduled_actor;
} // namespace caf

namespace quell::actors {

/// Starts the actor of a scope below `above`, the actor behind `supervisor`.
using scope_maker = std::function<scope_actor(caf::scheduled_actor& above, const supervisor_actor& supervisor)>;
/// The one with the real agents.
scope_maker real_scopes();

/// One for each process. With its end everything below it dies, and reports nothing.
supervisor_actor spawn_supervisor(caf::actor_system& system, scope_maker make = real_scopes());

} // namespace quell::actors
