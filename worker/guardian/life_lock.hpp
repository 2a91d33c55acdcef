// The lock that shows whether an earlier guardian or one of its keepers is still alive: a file in the worker's state
// directory. The kernel releases it with the last process that holds it, whatever names other processes take.
//
// The file contains the pid of the guardian, the boot, and `ended` once that guardian has ended with no task left. A
// guardian that was killed has not written `ended`.
#pragma once

#include <string>

#include "protocol/fault.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker::life_lock {

/// Opens (and makes, 0600) the file.
result<unique_fd> open(const std::string& path);
/// The previous content of the file.
struct before {
  std::string content;
  bool ended = false; ///< its previous holder ended by itself or in another boot, or there was none
};
/// Waits until no other process holds it, and takes it.
result<before> take(int fd, int limit_ms);
/// Records that no task is left: a guardian's last write.
void write_ended(int fd);
/// Restores the content of a lock that was taken but not used.
void put_back(int fd, const before& content);
/// Waits until no process holds the file. An empty path counts as free.
result<void> await_free(const std::string& path, int limit_ms);

} // namespace quell::worker::life_lock
