// Who has an order: whoever gave it, who may take it back, or the controller, who will answer it.
#pragma once

#include <atomic>

namespace quell::controller {

/// Shared between the two. Any thread.
class order_claim {
 public:
  /// True for the first who asks, and for nobody else: the controller as it begins, or whoever waited too long for
  /// that. If the controller comes too late it does nothing.
  bool take() { return !is_taken_.exchange(true); }

 private:
  std::atomic<bool> is_taken_ = false;
};

} // namespace quell::controller
