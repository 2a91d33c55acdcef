// Limits how much one worker can send in a time: one bucket per key, filled at a steady rate. Pure; the caller passes
// the time.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>

#include "protocol/time.hpp"

namespace quell {

/// A bucket that holds at most `most` and gains `per_second`.
class budget {
 public:
  struct rate {
    double most = 0, per_second = 0;
  };
  explicit budget(rate r) : rate_(r), left_(r.most) {}

  /// Takes `amount` if the bucket holds it. An amount larger than the bucket empties a full one, so that it is possible
  /// at all.
  bool take(double amount, boot_time now) {
    if (now > filled_at_) {
      const auto gained = std::chrono::duration<double>(now - filled_at_).count() * rate_.per_second;
      left_ = std::min(rate_.most, left_ + gained);
      filled_at_ = now;
    }
    amount = std::min(amount, rate_.most);
    if (left_ < amount) return false;
    left_ -= amount;
    return true;
  }

 private:
  rate rate_;
  double left_;
  boot_time filled_at_{};
};

/// One bucket per peer. One thread.
class peer_budgets {
 public:
  explicit peer_budgets(budget::rate r) : rate_(r) {}

  bool take(const std::string& public_key, double amount, boot_time now) {
    if (budgets_.size() >= most_peers && !budgets_.contains(public_key)) budgets_.clear();
    return budgets_.try_emplace(public_key, budget(rate_)).first->second.take(amount, now);
  }

 private:
  static constexpr std::size_t most_peers = 100'000; // more keys than can be enrolled

  budget::rate rate_;
  std::unordered_map<std::string, budget> budgets_;
};

} // namespace quell
