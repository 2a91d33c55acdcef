// The channels whose missed messages are still to be fetched: few at once, since Discord takes 50 requests a second
// from a bot, and replies need them, too; those first in which somebody waits. Pure.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace quell::integrations::chat::discord {

/// Each place waits at most once. Every step takes the same time, however many wait.
class history_queue {
 public:
  static constexpr std::size_t most_at_once = 4;

  struct request {
    std::string place;
    std::string after;     ///< the id of the last message that was heard there
    unsigned pages = 0;    ///< that may still be fetched
    unsigned tries = 1;    ///< this one included
    unsigned refusals = 0; ///< answers that asked for patience; no try
  };

  void add(request r) { insert(waiting_.end(), std::move(r)); }
  /// Comes before all others.
  void add_first(request r) { insert(waiting_.begin(), std::move(r)); }
  /// Somebody waits in this place: it comes before all others.
  void hurry(const std::string& place) {
    if (const auto at = by_place_.find(place); at != by_place_.end())
      waiting_.splice(waiting_.begin(), waiting_, at->second);
  }
  /// Whether one may begin now, as far as their number goes.
  bool may_begin() const { return !waiting_.empty() && under_way_ < most_at_once; }
  /// The next one, which counts as under way until `ended`; nullopt: none may begin now.
  std::optional<request> next() {
    if (!may_begin()) return std::nullopt;
    auto first = std::move(waiting_.front());
    waiting_.pop_front();
    by_place_.erase(first.place);
    ++under_way_;
    return first;
  }
  void ended() { --under_way_; }

 private:
  void insert(std::list<request>::const_iterator before, request r) {
    const auto [at, is_new] = by_place_.try_emplace(r.place);
    if (is_new) at->second = waiting_.insert(before, std::move(r));
  }

  std::list<request> waiting_;
  std::unordered_map<std::string, std::list<request>::iterator> by_place_;
  std::size_t under_way_ = 0;
};

} // namespace quell::integrations::chat::discord
