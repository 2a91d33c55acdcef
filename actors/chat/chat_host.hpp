// The host of chat connectors in quelld: passes messages to the turn scheduler and button presses to the controller,
// each limited to the scopes of its service.
#pragma once

#include <memory>

#include "controller/service.hpp"
#include "integrations/chat/chat.hpp"

namespace quell::controller::turns {
class turn_scheduler;
}

namespace quell::controller::chat {

/// Both must outlive it.
std::unique_ptr<integrations::chat::host> make_host(service& controller, turns::turn_scheduler& turn_scheduler);

} // namespace quell::controller::chat
