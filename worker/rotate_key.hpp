// `quell-worker rotate-key`: asks the worker of a state directory for a new key, and waits until it goes by it.
#pragma once

#include <chrono>
#include <string>

namespace quell::worker {

/// Returns the exit code: 0 the worker has a new key (its public half is on standard output), or is not running and
/// changes it when it starts; 1 not (yet), with the reason on standard error.
int rotate_key(const std::string& state, std::chrono::seconds patience);

} // namespace quell::worker
