// Passes stops down to the agents of one scope, and their ends up.
//
// The queue of the scope's turns and its cutoff are state of the core, which begins an agent only in the transaction
// that has judged it: a second owner here would be a second truth. The scope's actor is the parent of what runs.
#include "actors/scope_actor.hpp"

#include <algorithm>
#include <caf/all.hpp>
#include <unordered_map>
#include <utility>
#include <variant>

#include "actors/own_exit.hpp"

namespace quell::actors {

namespace {

struct scope_state {
  scope_state() = default; // else the library takes it for one that is made of its actor
  supervisor_actor supervisor;
  agent_maker make;
  std::unordered_map<agent_ref, agent_actor> agents; ///< that live
};

using scope_pointer = scope_actor::stateful_pointer<scope_state>;

void tell(scope_pointer self, const agent_actor& to, const leave_now&) {
  self->send_exit(to, caf::exit_reason::user_shutdown);
}
void tell(scope_pointer self, const agent_actor& to, const cancel_now& m) {
  self->send<caf::message_priority::high>(to, m);
}
void tell(scope_pointer self, const agent_actor& to, const call_cancelled& m) {
  self->send<caf::message_priority::high>(to, m);
}
template <class Message>
void tell(scope_pointer self, const agent_actor& to, const Message& m) {
  self->send(to, m);
}

/// An agent has exited; one that has completed has no reason, and one that the end of the process takes along is not
/// broken. Foreign and repeated exits change nothing.
void exited(scope_pointer self, const caf::exit_msg& m) {
  auto& s = self->state;
  if (ends_actor(self, m, s.supervisor.address())) return self->quit(m.reason);
  const auto gone =
      std::find_if(s.agents.begin(), s.agents.end(), [&](const auto& a) { return a.second.address() == m.source; });
  if (gone == s.agents.end()) return;
  const auto which = gone->first;
  s.agents.erase(gone);
  self->send(s.supervisor, agent_ended{which, m.reason && m.reason != caf::exit_reason::user_shutdown});
}

scope_actor::behavior_type scope_behavior(scope_pointer self, const supervisor_actor& supervisor,
                                          const agent_maker& make) {
  self->state.supervisor = supervisor;
  self->state.make = make;
  self->set_exit_handler([self](const caf::exit_msg& m) { exited(self, m); });
  return {
      [self](const begin_agent& m) { self->state.agents.emplace(m.which, self->state.make(*self, m.start())); },
      [self](const tell_agent& m) {
        const auto to = self->state.agents.find(m.which);
        if (to == self->state.agents.end()) return;
        std::visit([&](const auto& what) { tell(self, to->second, what); }, m.what);
      },
  };
}

} // namespace

scope_actor spawn_scope(caf::scheduled_actor& above, const supervisor_actor& supervisor, agent_maker make) {
  return above.spawn<caf::linked>(scope_behavior, supervisor, std::move(make));
}

} // namespace quell::actors
