// The end of a call of quell-tool: an image or a document that `read` found becomes a file of the scope, which the
// call's result names.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/turns/task_work.hpp"

namespace quell::controller::turns {

struct shown_file {
  std::string name, type, bytes;
};

/// Takes the file out of `read`'s answer, which then has its path, type and size only. nullopt, and nothing is changed:
/// the answer has none.
std::optional<shown_file> take_shown_file(std::string& answer);

/// The result for the end of the task of a file tool. Calls `done` once, on any thread; at once unless a file must be
/// stored. A file that cannot be stored fails the call.
void end_file_call(const std::shared_ptr<agent_runtime>& runtime, const scope_path& scope, const tool_definition& tool,
                   task_end end, std::function<void(actors::work_end)> done);

} // namespace quell::controller::turns
