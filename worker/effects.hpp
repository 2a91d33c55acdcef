// Actions that the task table requests: values that the session loop performs in order, at once.
#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "protocol/messages.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker {

/// Make the streams and ask the guardian to spawn the task; if that fails here, answer with
/// `task_table::spawn_refused`.
struct spawn_task {
  wire::start order;
};
/// Write the go *now* and answer with `task_table::went`; nothing else may happen in between.
struct let_go {
  operation_id operation;
};
/// Close the PTY's master: the cooperative first signal.
struct hang_up {
  operation_id operation;
};
/// Read the rest of the task's output, end its streams and answer with `task_table::output_finished`.
struct finish_output {
  operation_id operation;
};
/// Ask the guardian for the processes of a task that is being stopped.
struct look_at {
  operation_id operation;
};
/// A message for the controller. Dropped without a session: the next hello carries the same state.
struct tell {
  wire::message body;
};

using effect = std::variant<spawn_task, let_go, stop_request, hang_up, wire::resize, finish_output, look_at, tell>;
using effects = std::vector<effect>;

/// A stop that needs at most so many effects (two for a running task) is carried out before it is acknowledged; those
/// of more tasks would keep the acknowledgement for as long as their signals take.
constexpr std::size_t effects_before_acknowledgement = 4;

} // namespace quell::worker
