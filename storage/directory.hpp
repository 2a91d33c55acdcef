// Makes, checks and locks the state directory, so that one controller at a time owns it.
#pragma once

#include <string>

#include "protocol/fault.hpp"

namespace quell::storage {

/// Holds the lock of a state directory for its lifetime; the kernel releases the lock when the process dies.
class directory_lock {
 public:
  /// Makes the directory (0700) if it is missing, locks `quelld.lock` in it and writes our pid there.
  /// Faults: `state_in_use` (with the other's pid), `read_only`.
  static result<directory_lock> take(const std::string& directory);

  directory_lock(directory_lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  directory_lock& operator=(directory_lock&& other) noexcept;
  ~directory_lock();

 private:
  explicit directory_lock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

/// Ensures that `path` exists with mode 0600 and that this process can write it. Fault `read_only`.
result<void> private_file(const std::string& path);

} // namespace quell::storage
