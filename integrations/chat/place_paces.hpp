// A pace for each place, so that what is said in one place takes nothing from another. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include "integrations/chat/pace.hpp"

namespace quell::integrations::chat {

/// Bounded: the place that has rested longest is forgotten, and begins anew with a full bucket.
class place_paces {
 public:
  explicit place_paces(pace p) : pace_(p) {}

  /// Counts one action at the place. False: not now; nothing is counted.
  bool take(const std::string& place, boot_time now) {
    auto at = buckets_.find(place);
    if (at == buckets_.end()) {
      if (buckets_.size() >= most) forget_one();
      at = buckets_.emplace(place, bucket(pace_)).first;
    }
    if (at->second.free_at() > now) return false;
    at->second.take(now);
    return true;
  }
  std::size_t size() const { return buckets_.size(); }

 private:
  static constexpr std::size_t most = 256;

  void forget_one() {
    buckets_.erase(std::min_element(buckets_.begin(), buckets_.end(), [](const auto& a, const auto& b) {
      return a.second.free_at() < b.second.free_at();
    }));
  }

  pace pace_;
  std::map<std::string, bucket> buckets_;
};

} // namespace quell::integrations::chat
