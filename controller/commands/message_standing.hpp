// Whether a stop word counts: what lives in the scope, and what its author has to do with it. Only reads.
#pragma once

#include "controller/commands/context.hpp"
#include "controller/message_order.hpp"

namespace quell::controller::commands {

/// True if nothing lives there except this message's exchange and the operations that serve the conversation.
bool is_idle_but_for(const turns::message_order& order, const context& with);
turns::standing standing_of(const turns::message_order& order, const context& with);

} // namespace quell::controller::commands
