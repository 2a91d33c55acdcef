// Which limits a task has: its own within those of the worker. Pure.
#pragma once

#include "protocol/task.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker {

/// What the task asks for, never more than `most` (the worker's; 0 = no limit there). What it asked for is required.
task_limits limits_of(const task_spec& spec, const task_limits& most);

} // namespace quell::worker
