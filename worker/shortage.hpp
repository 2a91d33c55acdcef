// Whether this process could begin a task now: a look before slots are offered again.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "worker/guardian/client.hpp"

namespace quell::worker {

/// Why not, or nullopt. Makes what a task needs here (descriptors, a process) and gives it back.
std::optional<std::string> shortage_here();

/// Descriptors that are kept for new connections to the controller: without one a worker that has run out of them could
/// not say so, and would lose its lease with all that runs.
class descriptor_reserve {
 public:
  /// Takes what is missing. False if there is not enough.
  bool take();
  void release();

 private:
  std::array<unique_fd, 8> kept_;
};

} // namespace quell::worker
