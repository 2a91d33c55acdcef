// quelld for its connectors: what was said goes to the swarm, what was pressed to the controller, each inside the
// scopes of the service that it comes from.
#pragma once

#include <memory>

#include "controller/service.hpp"
#include "integrations/chat/chat.hpp"

namespace quell::controller::turns {
class swarm;
}

namespace quell::controller::chat {

/// Both outlive it.
std::unique_ptr<integrations::chat::host> make_host(service& controller, turns::swarm& swarm);

} // namespace quell::controller::chat
