// The exits that end an actor. All others, which can be foreign, late or repeated, change nothing.
#pragma once

#include <caf/actor_addr.hpp>
#include <caf/system_messages.hpp>

namespace quell::actors {

/// True for the actor's own exit, which `caf::anon_send_exit` sends, and for the one of its parent, if it has one.
template <class Pointer>
bool ends_actor(Pointer self, const caf::exit_msg& m, const caf::actor_addr& parent = {}) {
  return !m.source || m.source == self->address() || m.source == parent;
}

/// For an actor that is linked to nobody: it ends by its own exit alone. The default would end it without a word by any
/// exit or DOWN, and everybody who waits for it would wait for ever.
template <class Pointer>
void end_by_own_exit(Pointer self) {
  self->set_exit_handler([self](const caf::exit_msg& m) {
    if (ends_actor(self, m)) self->quit(m.reason);
  });
  self->set_down_handler([](const caf::down_msg&) {});
}

} // namespace quell::actors
