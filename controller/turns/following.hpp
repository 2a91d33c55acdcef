// The first step of new work must not meet what it follows: while a task that was stopped still lives in the same
// workspace, a new one waits for its end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "controller/turns/parts.hpp"
#include "controller/turns/tool_task.hpp"

namespace quell::controller::turns {

/// Calls `then` once: with nothing when the way is free, at once if it is; or, when the longest grace of what is waited
/// for and 10 s are over, with what still lives. Any thread.
void wait_for_what_it_follows(std::shared_ptr<shared_parts> parts, const followed_work& what, const task_spec& mine,
                              std::function<void(std::optional<std::string> still_lives)> then);

} // namespace quell::controller::turns
