// The pipes or the PTY of one task: the child's ends for the guardian, the worker's ends for the bulk loop.
#pragma once

#include "protocol/fault.hpp"
#include "protocol/id.hpp"
#include "protocol/task.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker {

/// The worker's ends. A PTY has its master in `out` and a duplicate for writing in `in`; it has no `err`.
struct task_streams {
  operation_id operation;
  bool pty = false;
  std::string token = {}; ///< its QUELL_TOKEN, which admits it to the relay
  unique_fd out, err, in;
};

struct stream_ends {
  task_streams ours;
  unique_fd child_in, child_out, child_err;
};

/// Faults: `start_fault::shortage`, `start_fault::no_streams`.
result<stream_ends> make_streams(const operation_id& operation, const task_spec& spec);

} // namespace quell::worker
