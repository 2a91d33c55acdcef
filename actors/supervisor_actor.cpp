// Monitors agents. An agent can be dead before the message that announces it is handled: its exit comes all the same,
// because an actor that is monitored after its end reports that end at once.
#include "actors/supervisor_actor.hpp"

#include <caf/all.hpp>
#include <exception>
#include <unordered_map>

namespace quell::actors {

namespace {

struct supervisor_state {
  std::unordered_map<caf::actor_addr, std::function<void()>>
      reports; ///< one for each agent that is not known to be over
};

using supervisor_pointer = supervisor_actor::stateful_pointer<supervisor_state>;

/// An agent that has completed has no reason, and one that the end of the process takes along reports nothing. Foreign
/// and repeated exits change nothing.
void exited(supervisor_pointer self, const caf::down_msg& m) {
  const auto known = self->state.reports.extract(m.source);
  if (known.empty() || !m.reason || m.reason == caf::exit_reason::user_shutdown) return;
  known.mapped()();
}

supervisor_actor::behavior_type supervisor_behavior(supervisor_pointer self) {
  // A report that is lost would leave a turn that nobody ends; the next life of the process ends it.
  self->set_exception_handler([](std::exception_ptr&) -> caf::error { std::terminate(); });
  self->set_down_handler([self](const caf::down_msg& m) { exited(self, m); });
  return {
      [self](const agent_spawned& m) {
        self->state.reports.emplace(caf::actor_cast<caf::actor_addr>(m.agent), m.broke);
        self->monitor(m.agent);
      },
  };
}

} // namespace

supervisor_actor spawn_supervisor(caf::actor_system& system) { return system.spawn(supervisor_behavior); }

} // namespace quell::actors
