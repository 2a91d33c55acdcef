// The clocks, for the edges of the controller. Code that decides gets the time as an argument.
#pragma once

#include "protocol/time.hpp"

namespace quell {

/// Reads both clocks.
moment clock_now();

} // namespace quell
