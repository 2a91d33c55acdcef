// Keeps new work from meeting its predecessors: while a task that was stopped still lives in the same workspace, a new
// task waits for its end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/tool_task.hpp"

namespace quell::controller::turns {

/// Calls `then` once: with nullopt when the way is free (at once if it is), or with the tasks that still live, 10 s
/// after the longest grace of those tasks. Any thread.
void wait_for_predecessor(std::shared_ptr<agent_runtime> runtime, const predecessor& what, const task_spec& mine,
                          std::function<void(std::optional<std::string> still_lives)> then);

} // namespace quell::controller::turns
