// quell's own brain: the user's words become a turn of the scope's agent, below the exchange.
#pragma once

#include <memory>

#include "controller/voice/brain_port.hpp"
#include "controller/voice/house.hpp"

namespace quell::controller::voice {

/// Fault `no_brain`: no agent serves the scope.
result<std::shared_ptr<brain_port>> own_brain(house_ref house, speaker who);

} // namespace quell::controller::voice
