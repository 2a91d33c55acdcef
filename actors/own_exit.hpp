// The exits that end an actor which is linked to nobody.
#pragma once

#include <caf/system_messages.hpp>

namespace quell::actors {

/// The actor ends by its own exit alone, which `caf::anon_send_exit` sends. Exits and DOWNs that are foreign, late or
/// repeated change nothing: the default would end it without a word, and everybody who waits for it would wait for
/// ever.
template <class Pointer>
void end_by_own_exit(Pointer self) {
  self->set_exit_handler([self](const caf::exit_msg& m) {
    if (m.source == self->address() || !m.source) self->quit(m.reason);
  });
  self->set_down_handler([](const caf::down_msg&) {});
}

} // namespace quell::actors
