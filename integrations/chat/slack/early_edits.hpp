// Edits of messages that Slack has not brought yet: it repeats a delivery that was lost after a minute, and brings an
// edit at once. The message then begins in its newest form, or not at all. Bounded: the oldest are forgotten. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "integrations/chat/slack/read.hpp"

namespace quell::integrations::chat::slack {

class early_edits {
 public:
  static constexpr std::size_t most = 1'000, most_bytes = 4 << 20;

  struct form {
    message newest; ///< as it was edited last
    bool may_begin; ///< false: it was taken back
  };
  /// Keeps the form with the newest stamp.
  void put(const std::string& key, form f) {
    if (const auto at = all_.find(key); at != all_.end()) {
      if (f.newest.stamp <= at->second.newest.stamp) return;
      bytes_ -= bytes_of(at->second);
      at->second = std::move(f);
      bytes_ += bytes_of(at->second);
    } else {
      bytes_ += bytes_of(f);
      all_.emplace(key, std::move(f));
      order_.push_back(key);
    }
    while (order_.size() > most || bytes_ > most_bytes) {
      if (const auto oldest = all_.find(order_.front()); oldest != all_.end()) {
        bytes_ -= bytes_of(oldest->second);
        all_.erase(oldest);
      }
      order_.pop_front();
    }
  }
  std::optional<form> find(const std::string& key) const {
    const auto at = all_.find(key);
    return at == all_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  static std::size_t bytes_of(const form& f) {
    constexpr std::size_t of_members = 500;
    std::size_t bytes = of_members + f.newest.text.size() + f.newest.attached.size();
    for (const auto& file : f.newest.files) bytes += of_members + file.name.size() + file.place.size();
    return bytes;
  }

  std::map<std::string, form> all_;
  std::deque<std::string> order_; ///< the oldest first
  std::size_t bytes_ = 0;
};

} // namespace quell::integrations::chat::slack
