// Determines the limits of a task: its own within those of the worker. Pure.
#pragma once

#include "protocol/task.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker {

/// The limits that the task asks for, never above `most` (the worker's; 0 = no limit). A limit that the task asked for
/// is required.
task_limits limits_of(const task_spec& spec, const task_limits& most);

} // namespace quell::worker
