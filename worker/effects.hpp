// Actions that the task table requests: values that the session loop performs in order, at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
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

/// Takes the signals of a stop that come before its acknowledgement: those of a few tasks. The signals of many would
/// keep it too long. Reports follow it in any case.
inline effects signals_before_acknowledgement(effects& list) {
  constexpr std::size_t few = 4; // two for a running task: its signal and its report
  if (list.size() > few) return {};
  const auto reports =
      std::find_if(list.begin(), list.end(), [](const effect& e) { return std::holds_alternative<tell>(e); });
  effects signals(std::make_move_iterator(list.begin()), std::make_move_iterator(reports));
  list.erase(list.begin(), reports);
  return signals;
}

} // namespace quell::worker
