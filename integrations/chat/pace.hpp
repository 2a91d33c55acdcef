// A service's rate limit: a token bucket, with the time passed in. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "protocol/time.hpp"

namespace quell::integrations::chat {

/// One action per `every`, and up to `burst` (at least 1) at once after a rest. `every` 0: no limit.
struct pace {
  milliseconds every{0};
  unsigned burst = 1;
};

/// The bucket of a pace. Initially full.
class bucket {
 public:
  explicit bucket(pace p) : pace_(p) {}

  /// The time at which the next action may go; in the past: at once.
  boot_time free_at() const { return full_at_ - slack(); }
  /// The time at which an urgent action may go: it borrows at most one burst from later actions.
  boot_time urgent_at() const { return full_at_ - slack() - pace_.every * static_cast<int>(std::max(pace_.burst, 1U)); }
  /// Counts one action.
  void take(boot_time now) { full_at_ = std::max(full_at_, now) + pace_.every; }

 private:
  std::chrono::nanoseconds slack() const { return pace_.every * static_cast<int>(std::max(pace_.burst, 1U) - 1); }

  pace pace_;
  boot_time full_at_{}; ///< time at which all tokens are back
};

} // namespace quell::integrations::chat
