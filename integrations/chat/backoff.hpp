// The wait before the next attempt: doubles each time up to a limit, minus a random part, so that many clients of one
// server do not reconnect together.
#pragma once

#include <algorithm>
#include <chrono>

namespace quell::integrations::chat {

class backoff {
 public:
  backoff(std::chrono::milliseconds first, std::chrono::milliseconds most) : first_(first), most_(most), next_(first) {}

  /// The next wait: half of the step to all of it. `chance` is 0 to 1.
  std::chrono::milliseconds step(double chance) {
    const auto whole = std::min(next_, most_);
    next_ = std::min(whole * 2, most_);
    return part(whole, chance);
  }
  /// Jumps to the longest wait.
  std::chrono::milliseconds longest(double chance) {
    next_ = most_;
    return part(most_, chance);
  }
  void worked() { next_ = first_; }

 private:
  static std::chrono::milliseconds part(std::chrono::milliseconds whole, double chance) {
    return std::chrono::milliseconds(
        static_cast<long long>(static_cast<double>(whole.count()) * (0.5 + 0.5 * std::clamp(chance, 0.0, 1.0))));
  }
  std::chrono::milliseconds first_, most_, next_;
};

} // namespace quell::integrations::chat
