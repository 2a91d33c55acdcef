// A task's secrets as memory files: its first process inherits them as open descriptors; they appear in no file system,
// environment or command line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "protocol/fault.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker {

/// One sealed memory file for each secret, in the order of the names. Faults: `start_fault::no_secret`, a
/// sentence for the start's refusal; `start_fault::shortage`.
result<std::vector<unique_fd>> memory_files(const std::map<std::string, std::string>& secrets);

} // namespace quell::worker
