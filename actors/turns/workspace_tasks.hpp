// The tasks of a workspace, as the store knows them: each keeps it on its worker, whatever its row says.
#pragma once

#include <optional>
#include <string>

#include "actors/turns/workspace_rows.hpp"
#include "controller/store_reader.hpp"

namespace quell::controller::turns {

/// Whether a task with this directory works in the workspace.
bool is_in(const workspace_row& row, const std::optional<std::string>& cwd);

/// Whether a task lives in it, or has ended in it so lately that its worker still keeps it. The row knows neither of
/// commands that run for longer than an unused workspace is kept, nor of those in the background that ran on over a
/// restart. Reads the scope's tasks, so ask only if the row says that it was not used.
bool has_task_lately(const workspace_row& row, const scope_path& scope, store_reader& store, wall_time now);

} // namespace quell::controller::turns
