// The channels whose missed messages are still to be fetched: few at once, since Discord takes 50 requests a second
// from a bot, and replies need them, too; those first in which somebody waits. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "protocol/time.hpp"

namespace quell::integrations::chat::discord {

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

  void add(request r) { waiting_.push_back(std::move(r)); }
  /// Comes before all others.
  void add_first(request r) { waiting_.push_front(std::move(r)); }
  /// Somebody waits in this place: it comes before all others.
  void hurry(const std::string& place) {
    const auto at = std::find_if(waiting_.begin(), waiting_.end(), [&](const request& r) { return r.place == place; });
    if (at == waiting_.end() || at == waiting_.begin()) return;
    auto found = std::move(*at);
    waiting_.erase(at);
    waiting_.push_front(std::move(found));
  }
  /// Nothing begins before then.
  void pause(boot_time until) { free_at_ = std::max(free_at_, until); }
  /// The next one, which counts as under way until `ended`; nullopt: none may begin now.
  std::optional<request> next(boot_time now) {
    if (waiting_.empty() || under_way_ >= most_at_once || free_at_ > now) return std::nullopt;
    auto first = std::move(waiting_.front());
    waiting_.pop_front();
    ++under_way_;
    return first;
  }
  void ended() { --under_way_; }
  /// When a pause ends for what waits; nullopt: nothing waits for the time.
  std::optional<boot_time> next_at(boot_time now) const {
    if (waiting_.empty() || under_way_ >= most_at_once || free_at_ <= now) return std::nullopt;
    return free_at_;
  }

 private:
  std::deque<request> waiting_;
  std::size_t under_way_ = 0;
  boot_time free_at_{};
};

} // namespace quell::integrations::chat::discord
