// Deliveries that quelld could not take for the moment and that the service brings again. Pure.
//
// A stop that is heard meanwhile covers them: they are not begun when they come again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "protocol/scope.hpp"

namespace quell::integrations::chat {

class refused_deliveries {
 public:
  /// `key`: the same each time the delivery comes. Bounded: the oldest are forgotten.
  void add(const std::string& key, const scope_path& scope) {
    taken(key);
    all_.push_back({key, scope});
    if (all_.size() > most) all_.pop_front();
  }
  void taken(const std::string& key) {
    std::erase_if(all_, [&](const entry& e) { return e.key == key; });
  }
  /// The keys of those that a stop of this scope covers, in order; they are forgotten here.
  std::vector<std::string> stop(const scope_path& scope) {
    std::vector<std::string> covered;
    for (const auto& e : all_)
      if (e.scope.is_at_or_below(scope)) covered.push_back(e.key);
    std::erase_if(all_, [&](const entry& e) { return e.scope.is_at_or_below(scope); });
    return covered;
  }
  std::size_t size() const { return all_.size(); }

 private:
  static constexpr std::size_t most = 1000;
  struct entry {
    std::string key;
    scope_path scope;
  };
  std::deque<entry> all_;
};

} // namespace quell::integrations::chat
