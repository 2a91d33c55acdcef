// Cleans up after an earlier guardian of this machine, besides its life lock and its cgroups.
#pragma once

#include <cstddef>

#include "protocol/fault.hpp"

namespace quell::worker {

/// Waits until no orphaned init of a task is dying. Such an init closes its files, and with them the life lock, before
/// the kernel kills the rest of its namespace.
result<void> await_dying_inits(int limit_ms);

/// Kills every child of this process with its descendants until none is left, and returns the number of processes
/// reaped. Works only in a subreaper, which adopts orphans; otherwise it does nothing.
result<std::size_t> kill_own_children(int limit_ms);

} // namespace quell::worker
