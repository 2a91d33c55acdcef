// Starts the root of the tree of actors: the parent of all scope actors, which watches over the core.
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

/// The root of the tree, one for each process. With its end everything below it dies, and reports nothing. It monitors
/// `core`: if that dies in another way than by its planned end, the process ends, because nobody else would stop what
/// runs. It keeps no handle to it.
supervisor_actor spawn_supervisor(caf::actor_system& system, const controller_actor& core,
                                  scope_maker make = real_scopes());

} // namespace quell::actors
