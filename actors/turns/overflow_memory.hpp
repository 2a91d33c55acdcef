// The part of a model's context left to a conversation that its provider refused twice as too long.
//
// Only half of what was refused is sent next, so that a context that is configured too large ends a turn, never the
// conversation. Each answer doubles it again: one step too many is made good by the summary of that request.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

namespace quell::controller::turns {

/// Any thread. Lost with the process: then the conversation is refused again, and halved again.
class overflow_memory {
 public:
  /// A request of `tokens`, by quell's estimate, was refused.
  void refused(const std::string& conversation, std::size_t tokens) {
    const std::lock_guard lock(guard_);
    if (rooms_.size() >= most_conversations && !rooms_.contains(conversation)) rooms_.erase(rooms_.begin());
    rooms_[conversation] = std::max(tokens / 2, least_room);
  }
  /// A request was answered.
  void answered(const std::string& conversation) {
    const std::lock_guard lock(guard_);
    if (const auto at = rooms_.find(conversation); at != rooms_.end()) at->second *= 2;
  }
  std::size_t room(const std::string& conversation, std::size_t configured) {
    const std::lock_guard lock(guard_);
    const auto at = rooms_.find(conversation);
    if (at == rooms_.end()) return configured;
    if (at->second < configured) return at->second;
    rooms_.erase(at);
    return configured;
  }

 private:
  static constexpr std::size_t most_conversations = 10'000;
  static constexpr std::size_t least_room = 1'000;
  std::mutex guard_;
  std::unordered_map<std::string, std::size_t> rooms_; ///< in tokens
};

} // namespace quell::controller::turns
