// The lock that says whether an earlier guardian or one of its keepers still lives: a file in the worker's state
// directory. The kernel drops it with the last process that holds it, whatever other processes call themselves.
//
// Its content is the pid of the guardian, for people.
#pragma once

#include <string>

#include "protocol/fault.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker::life_lock {

/// Opens (and makes, 0600) the file.
result<unique_fd> open(const std::string& path);
/// Waits until nobody else holds it, and takes it.
result<void> take(int fd, int limit_ms);
/// Waits until nobody holds the file. An empty path is free.
result<void> await_free(const std::string& path, int limit_ms);

} // namespace quell::worker::life_lock
