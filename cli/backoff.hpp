// The limit on lost contact with the controller: one window for all requests of a command, and growing pauses between
// attempts.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "protocol/time.hpp"

namespace quell::cli {

class backoff {
 public:
  explicit backoff(milliseconds window) : window_(window) {}

  /// The controller has answered or sent data.
  void contact() {
    lost_at_.reset();
    pause_ = first_pause;
  }
  /// An attempt failed. Returns the pause before the next one; nullopt: the window is over.
  std::optional<milliseconds> lost(std::chrono::steady_clock::time_point now) {
    if (!lost_at_) lost_at_ = now;
    if (now - *lost_at_ >= window_) return std::nullopt;
    const auto pause = pause_;
    pause_ = std::min(pause_ * 2, most_pause);
    return pause;
  }
  bool is_lost() const { return lost_at_.has_value(); }
  milliseconds window() const { return window_; }

 private:
  static constexpr milliseconds first_pause{100};
  static constexpr milliseconds most_pause{2000};
  milliseconds window_;
  milliseconds pause_ = first_pause;
  std::optional<std::chrono::steady_clock::time_point> lost_at_;
};

} // namespace quell::cli
