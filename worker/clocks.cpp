// Reads the wall clock together with CLOCK_BOOTTIME.
#include "worker/clocks.hpp"

namespace quell::worker {

moment now() { return {std::chrono::floor<milliseconds>(std::chrono::system_clock::now()), boot_now()}; }

} // namespace quell::worker
