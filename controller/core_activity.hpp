// Counts what may have changed the core, so that a thread that keeps an answer of the core knows whether a new question
// would be answered alike.
#pragma once

#include <atomic>
#include <cstdint>

namespace quell::controller {

/// The core's thread counts before it applies a command, a frame, a tick or the notice of a commit; questions do not
/// count. To keep an answer: read `count` before the question is asked. While `count` stays the same, nothing has begun
/// that could change the answer, and whoever has heard of a change finds another count. Lock-free; any thread.
class core_activity {
 public:
  std::uint64_t count() const { return count_.load(std::memory_order_acquire); }
  void note() { count_.fetch_add(1, std::memory_order_acq_rel); }

 private:
  std::atomic<std::uint64_t> count_{1};
};

} // namespace quell::controller
