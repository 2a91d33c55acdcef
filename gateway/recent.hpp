// A map that keeps only the last entries: for values that never change and are cheap to look up again.
#pragma once

#include <deque>
#include <unordered_map>
#include <utility>

namespace quell::controller::http {

template <class Key, class Value>
class recent {
 public:
  explicit recent(std::size_t most) : most_(most) {}

  const Value* find(const Key& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second;
  }
  void put(const Key& key, Value value) {
    if (!entries_.insert_or_assign(key, std::move(value)).second) return;
    order_.push_back(key);
    if (order_.size() <= most_) return;
    entries_.erase(order_.front());
    order_.pop_front();
  }
  std::size_t size() const { return entries_.size(); }

 private:
  std::size_t most_;
  std::unordered_map<Key, Value> entries_;
  std::deque<Key> order_;
};

} // namespace quell::controller::http
