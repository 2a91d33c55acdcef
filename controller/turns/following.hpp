// Keeps new work from meeting its predecessors: while a task that was stopped still lives in the same workspace, a new
// task waits for its end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "controller/turns/parts.hpp"
#include "controller/turns/tool_task.hpp"

namespace quell::controller::turns {

/// Calls `then` once: with nullopt when the way is free (at once if it is), or with the tasks that still live, 10 s
/// after the longest grace of those tasks. Any thread.
void wait_for_what_it_follows(std::shared_ptr<shared_parts> parts, const followed_work& what, const task_spec& mine,
                              std::function<void(std::optional<std::string> still_lives)> then);

} // namespace quell::controller::turns
