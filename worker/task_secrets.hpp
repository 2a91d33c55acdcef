// A task's secrets as memory files: inherited by its first process as open descriptors, in no file system, in nobody's
// environment or command line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "protocol/fault.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker {

/// One sealed memory file for each, in the order of the names. Fault `no_secret`: a sentence for the start's refusal;
/// `shortage`: the worker itself cannot.
result<std::vector<unique_fd>> memory_files(const std::map<std::string, std::string>& secrets);

} // namespace quell::worker
