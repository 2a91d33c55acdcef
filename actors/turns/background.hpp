// Commands in the background: tasks that a call of exec detached from its turn. They belong to the scope: its stop ends
// them, a stop of their turn passes them by. A restart of this process does not touch them.
#pragma once

#include <string>
#include <vector>

#include "actors/turns/agent_runtime.hpp"
#include "controller/records/history.hpp"

namespace quell::controller::turns {

/// The label of such a task: the operation of the turn or sub-agent that started it.
inline constexpr const char* background_label = "quell.started_by";

/// Whether this agent may look at the task and stop it: it is a command in the background of the same scope, and a
/// sub-agent has only its own.
bool is_background_of(const records::operation_record& task, const agent_context& who);

/// For the model, before the message of `turn`: which commands in the background still run, and which have ended since
/// the model was last told; "" = none. Also those that a sub-agent started, and those whose start a summary stands for.
/// Bounded.
std::string background_note(const std::vector<records::kept_message>& kept, const records::operation_record& turn,
                            store_reader& store, wall_time now);

} // namespace quell::controller::turns
