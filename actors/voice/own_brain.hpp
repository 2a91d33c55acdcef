// quell's own brain: the user's words become a turn of the scope's agent, below the exchange.
#pragma once

#include <memory>

#include "actors/voice/brain_port.hpp"
#include "actors/voice/voice_context.hpp"

namespace quell::controller::voice {

/// Fault `no_brain`: no agent serves the scope.
result<std::shared_ptr<brain_port>> own_brain(voice_context_ref house, speaker who);

} // namespace quell::controller::voice
