// The clocks, for the edges of the controller. Code that decides gets the time as an argument.
#pragma once

#include <chrono>

#include "protocol/time.hpp"

namespace quell {

/// Reads both clocks.
moment clock_now();
/// The processor time that the calling thread has used.
std::chrono::nanoseconds processor_time();

} // namespace quell
