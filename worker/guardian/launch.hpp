// Starts the guardian's program and receives its report.
#pragma once

#include <sys/types.h>

#include "worker/guardian/client.hpp"

namespace quell::worker {

struct launched_guardian {
  unique_fd socket; ///< non-blocking use only
  unique_fd pidfd;
  pid_t pid = 0;
  containment_report report;
};

/// Waits for the report, 10 s at most. Thread safe.
result<launched_guardian> launch_guardian(const guardian_client::options& o);

} // namespace quell::worker
