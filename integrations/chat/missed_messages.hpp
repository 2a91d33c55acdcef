// Messages sent while we were offline, held until they are handed over. Pure.
//
// A cancel word among them takes effect as soon as it is read: earlier messages within its reach are not begun any
// more. All others come in the order in which they were sent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "integrations/chat/handled_marks.hpp"
#include "protocol/scope.hpp"

namespace quell::integrations::chat {

/// `Message`: the type that the connector hands over later. Ids grow with time, as those of heard_marks.
template <class Message>
class missed_messages {
 public:
  /// Drops the message if it already waits, if a later stop covers it, or if too many wait. False: it does not wait.
  bool add(const scope_path& scope, const std::string& id, Message message) {
    if (waiting_.contains(id)) return true;
    for (auto& s : stops_)
      if (is_before(id, s.id) && scope.is_at_or_below(s.scope)) {
        s.left_out.insert(id);
        return false;
      }
    if (is_full()) return false;
    waiting_.emplace(id, entry{scope, std::move(message)});
    return true;
  }
  bool is_full() const { return waiting_.size() >= most; }
  /// In its present form; nullptr = it does not wait here.
  const Message* find(const std::string& id) const {
    const auto at = waiting_.find(id);
    return at == waiting_.end() ? nullptr : &at->second.message;
  }
  /// Replaces a waiting message that was edited or deleted. False: it does not wait here.
  bool change(const std::string& id, Message message) {
    const auto at = waiting_.find(id);
    if (at == waiting_.end()) return false;
    at->second.message = std::move(message);
    return true;
  }
  bool forget(const std::string& id) { return waiting_.erase(id) > 0; }

  /// Somebody sent a stop there, now or while we were offline. The caller performs it. The ids of the messages that do
  /// not wait any more because of it.
  std::set<std::string> stop(const scope_path& scope, const std::string& id) {
    std::set<std::string> left_out;
    for (auto i = waiting_.begin(); i != waiting_.end();)
      if (is_before(i->first, id) && i->second.scope.is_at_or_below(scope)) {
        left_out.insert(i->first);
        i = waiting_.erase(i);
      } else {
        ++i;
      }
    if (auto* known = stop_of(scope, id)) known->left_out.insert(left_out.begin(), left_out.end());
    return left_out;
  }
  /// A stop of an earlier process, and how many messages it left out there.
  void recall_stop(const scope_path& scope, const std::string& id, std::size_t left_out) {
    if (auto* known = stop_of(scope, id)) known->left_out_before = left_out;
  }

  /// The oldest first; afterwards the queue is empty.
  std::vector<Message> take() {
    std::vector<Message> all;
    for (auto& [id, e] : std::exchange(waiting_, {})) all.push_back(std::move(e.message));
    return all;
  }

  struct missed_stop {
    scope_path scope;
    std::string id;
    std::set<std::string> left_out;  ///< messages that were not begun because of this stop
    std::size_t left_out_before = 0; ///< others, in an earlier process
    std::size_t all_left_out() const { return left_out.size() + left_out_before; }
  };
  const std::vector<missed_stop>& stops() const { return stops_; }

 private:
  static constexpr std::size_t most = 1000;
  static bool is_before(const std::string& a, const std::string& b) { return handled_marks::by_number{}(a, b); }
  /// The same one if it is heard of again; nullptr = there are too many.
  missed_stop* stop_of(const scope_path& scope, const std::string& id) {
    for (auto& s : stops_)
      if (s.id == id && s.scope == scope) return &s;
    return stops_.size() < most ? &stops_.emplace_back(missed_stop{scope, id, {}, 0}) : nullptr;
  }
  struct entry {
    scope_path scope;
    Message message;
  };

  std::map<std::string, entry, handled_marks::by_number> waiting_;
  std::vector<missed_stop> stops_;
};

/// The text shown for messages that a stop kept from beginning.
inline std::string not_begun_text(std::size_t left_out) {
  return "🛑 stopped before it began: " + std::to_string(left_out) + (left_out == 1 ? " message" : " messages");
}

} // namespace quell::integrations::chat
