// Pauses between tries that fail: each twice as long as the one before it, up to the longest. Pure.
#pragma once

#include <algorithm>
#include <chrono>

namespace quell::worker {

class growing_pause {
 public:
  constexpr growing_pause(std::chrono::nanoseconds first, std::chrono::nanoseconds longest)
      : first_(first), longest_(longest), next_(first) {}

  /// The pause after one more failure in a row.
  constexpr std::chrono::nanoseconds next() {
    const auto pause = next_;
    next_ = std::min(2 * next_, longest_);
    return pause;
  }
  /// A try succeeded: the next pause is the first one.
  constexpr void reset() { next_ = first_; }

 private:
  std::chrono::nanoseconds first_, longest_, next_;
};

/// Of starts that fail whatever the task, and of a guardian that cannot be replaced.
constexpr growing_pause pause_of_starts{std::chrono::seconds{1}, std::chrono::seconds{60}};
constexpr growing_pause pause_of_repairs{std::chrono::milliseconds{250}, std::chrono::seconds{8}};

} // namespace quell::worker
