// The messages of the last minute, by the chat service's id: the store has all earlier ones, but not yet one that
// arrives twice at the same time. Pure.
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <unordered_map>

#include "controller/message_order.hpp"

namespace quell::controller::turns {

/// Used by one thread.
class recent_messages {
 public:
  /// The earlier decision, as a duplicate; nullptr if the message is new or has no id.
  const message_answer* find(const scope_path& scope, const std::string& client_id, boot_time now) const {
    if (client_id.empty()) return nullptr;
    const auto known = stated_.find(scope.text() + ' ' + client_id);
    return known != stated_.end() && now - known->second.at < kept_for ? &known->second.taken : nullptr;
  }
  void put(const scope_path& scope, const std::string& client_id, message_answer taken, boot_time now) {
    if (client_id.empty()) return;
    taken.is_duplicate = true;
    order_.push_back(scope.text() + ' ' + client_id);
    stated_[order_.back()] = {taken, now};
    if (order_.size() <= most) return;
    stated_.erase(order_.front());
    order_.pop_front();
  }

 private:
  static constexpr std::chrono::minutes kept_for{1};
  static constexpr std::size_t most = 4096;
  struct entry {
    message_answer taken;
    boot_time at;
  };
  std::unordered_map<std::string, entry> stated_;
  std::deque<std::string> order_;
};

} // namespace quell::controller::turns
