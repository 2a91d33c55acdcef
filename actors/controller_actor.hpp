// The controller actor: owns the core, turns messages into the core's events and performs its effects.
#pragma once

#include <caf/actor_system.hpp>
#include <cstdint>
#include <functional>

#include "actors/interfaces.hpp"
#include "controller/commit_gate.hpp"
#include "controller/core_activity.hpp"
#include "controller/service.hpp"
#include "protocol/clock_now.hpp"

namespace quell::controller {

/// Makes the core on the actor's own thread. `edges` must outlive the actor.
using core_maker = std::function<std::unique_ptr<commit_gate>(moment now)>;

enum class controller_thread : std::uint8_t {
  own,    ///< so that no other actor's work delays a cancel
  shared, ///< a thread of the system's scheduler, which a test can step through
};

/// It counts what it applies in `activity`, which must not be null. A step that throws ends the process.
actors::controller_actor spawn_controller(caf::actor_system& system, std::shared_ptr<core_activity> activity,
                                          core_maker make, controller_thread on = controller_thread::own);

/// The service over the actor, for any thread. `journal_low` says whether starts must be refused for lack of space.
std::unique_ptr<service> make_service(actors::controller_actor handle, std::function<bool()> journal_low,
                                      cluster_id cluster, std::uint64_t epoch);

/// Hands a committed event to the listener of `service` (called by the core's edges on the actor's thread).
void deliver_event(service& s, const records::event_record& event);
/// Hands the committed stop of an external operation to the listener of `service`, on the same thread.
void deliver_signal(service& s, const external_signal& signal);

} // namespace quell::controller
