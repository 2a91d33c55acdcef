// `quell-worker rotate-key`: asks the worker of a state directory for a new key, and waits until the worker uses it.
#pragma once

#include <chrono>
#include <string>

namespace quell::worker {

/// Returns the exit code. 0: the worker has a new key (its public half is on standard output), or it is not running and
/// changes the key when it starts. 1: no new key (yet); the reason is on standard error.
int rotate_key(const std::string& state, std::chrono::seconds timeout);

} // namespace quell::worker
