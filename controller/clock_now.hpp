// The clocks, for the edges of the controller; what decides gets time as an argument.
#pragma once

#include "protocol/time.hpp"

namespace quell::controller {

/// Reads both clocks.
moment clock_now();

} // namespace quell::controller
