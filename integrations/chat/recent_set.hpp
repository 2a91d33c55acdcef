// Recently seen items, such as deliveries that can be repeated. Bounded: the oldest are forgotten. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_set>

namespace quell::integrations::chat {

class recent_set {
 public:
  explicit recent_set(std::size_t most) : most_(most) {}
  bool contains(const std::string& what) const { return all_.contains(what); }
  /// Returns false if it was already present.
  bool add(const std::string& what) {
    if (!all_.insert(what).second) return false;
    order_.push_back(what);
    if (order_.size() > most_) {
      all_.erase(order_.front());
      order_.pop_front();
    }
    return true;
  }
  /// The oldest first.
  const std::deque<std::string>& in_order() const { return order_; }

 private:
  std::size_t most_;
  std::unordered_set<std::string> all_;
  std::deque<std::string> order_;
};

} // namespace quell::integrations::chat
