// What an earlier guardian of this machine may have left behind besides its life lock and its cgroups.
#pragma once

#include <cstddef>

#include "protocol/fault.hpp"

namespace quell::worker {

/// Waits until no orphaned init of a task is dying. Such an init has closed its files, and with them the life lock,
/// before the kernel kills the rest of its namespace.
result<void> await_dying_inits(int limit_ms);

/// Kills every child of this process and what is below it until none is left, and returns how many it reaped. Only in a
/// subreaper, to which orphans come; elsewhere it does nothing.
result<std::size_t> kill_own_children(int limit_ms);

} // namespace quell::worker
