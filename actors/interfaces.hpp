// Every actor's interface in one place: what it takes, one line above each message.
#pragma once

#include <caf/typed_actor.hpp>

#include "actors/messages.hpp"

namespace quell::controller {
class core;
}

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::asked<quell::controller::core>)

namespace quell::actors {

/// The owner of ledger and fleet: one thread, one at a time.
using controller_actor = caf::typed_actor<
    // An order or a look from the front; answers through the closure's own callback.
    caf::reacts_to<asked<controller::core>>,
    // From the control socket.
    caf::reacts_to<frames_arrived>,
    // From the journal's writer.
    caf::reacts_to<batch_committed>,
    // From the main thread.
    caf::reacts_to<shut_down>,
    // INTERNAL: timers.
    caf::reacts_to<clock_ticked>,
    // INTERNAL: end of a burst of messages.
    caf::reacts_to<turn_over>>;

} // namespace quell::actors
