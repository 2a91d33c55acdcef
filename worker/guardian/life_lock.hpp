// The lock that says whether an earlier guardian or one of its keepers still lives: a file in the worker's state
// directory. The kernel drops it with the last process that holds it, whatever other processes call themselves.
//
// Its content: the pid of the guardian, the boot, and `ended` once that guardian has ended with nothing left of its
// tasks. A guardian that was killed has not written the last word.
#pragma once

#include <string>

#include "protocol/fault.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker::life_lock {

/// Opens (and makes, 0600) the file.
result<unique_fd> open(const std::string& path);
/// What stood there before.
struct before {
  std::string content;
  bool ended = false; ///< whoever held it ended by itself, or in another boot, or there was nobody
};
/// Waits until nobody else holds it, and takes it.
result<before> take(int fd, int limit_ms);
/// Nothing is left of any task: the last words of a guardian.
void write_ended(int fd);
/// It was taken for nothing.
void put_back(int fd, const before& content);
/// Waits until nobody holds the file. An empty path is free.
result<void> await_free(const std::string& path, int limit_ms);

} // namespace quell::worker::life_lock
