// Reads both clocks together, at the edges of the worker.
#pragma once

#include "protocol/time.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {

moment now();

} // namespace quell::worker
