// Checks whether this process can begin a task now, before slots are offered again.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "worker/guardian/client.hpp"

namespace quell::worker {

/// The reason why not, or nullopt. Allocates what a task needs here (descriptors, a process) and frees it again.
std::optional<std::string> shortage_here();

/// Descriptors reserved for new connections to the controller: without one, a worker that has run out of them could not
/// report it, and would lose its lease with all running tasks.
class descriptor_reserve {
 public:
  /// Takes the missing descriptors. False if there are not enough.
  bool take();
  void release();

 private:
  std::array<unique_fd, 8> kept_;
};

} // namespace quell::worker
