// Decides who owns an order: its sender, who can still withdraw it, or the controller, which will answer it.
#pragma once

#include <atomic>

namespace quell::controller {

/// Shared between the two. Any thread.
class order_claim {
 public:
  /// True for the first caller only: the controller when it begins the order, or the sender when it has waited too
  /// long. A controller that comes second does nothing.
  bool take() { return !is_taken_.exchange(true); }

 private:
  std::atomic<bool> is_taken_ = false;
};

} // namespace quell::controller
