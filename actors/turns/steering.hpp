// Messages that steer a running turn. Each one waits in its scope's queue as a turn of its own; before the running turn
// asks its model again, it takes those that are on disk. A message that it does not take begins when it is over, or
// ends with its cancel. The first of them that begins takes the others, so that many messages are not as many turns.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/commands/open_steered_call.hpp"
#include "controller/store_reader.hpp"
#include "protocol/id.hpp"

namespace quell::controller::turns {

/// The waiting turns by the turn that they steer. Any thread. Lost with the process, and filled again from the rows of
/// the waiting turns.
class steering_table {
 public:
  static constexpr std::size_t most_at_once = 128;

  void add(const operation_id& turn, const operation_id& waiting) {
    const std::lock_guard lock(guard_);
    waiting_[turn].push_back(waiting);
    steers_.insert_or_assign(waiting, turn);
  }
  /// The oldest, at most `most_at_once`: the others are told before the next model call.
  std::vector<operation_id> of(const operation_id& turn) const {
    const std::lock_guard lock(guard_);
    const auto at = waiting_.find(turn);
    if (at == waiting_.end()) return {};
    const auto count = std::min(most_at_once, at->second.size());
    return {at->second.begin(), at->second.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  /// This turn begins by itself, so what waited with it steers it from now on. The turn that it was to steer last.
  std::optional<operation_id> begins(const operation_id& turn) {
    const std::lock_guard lock(guard_);
    const auto at = steers_.find(turn);
    if (at == steers_.end()) return std::nullopt;
    const auto before = at->second;
    auto others = std::exchange(waiting_[before], {});
    waiting_.erase(before);
    steers_.erase(at);
    std::erase(others, turn);
    for (const auto& one : others) steers_.insert_or_assign(one, turn);
    if (!others.empty()) {
      auto& own = waiting_[turn];
      own.insert(own.begin(), others.begin(), others.end());
    }
    return before;
  }
  /// It was told, or has ended: it steers nothing. Messages that steer this turn itself wait on.
  void over(const operation_id& waiting) {
    const std::lock_guard lock(guard_);
    const auto steered = steers_.find(waiting);
    if (steered == steers_.end()) return;
    const auto at = waiting_.find(steered->second);
    if (at != waiting_.end() && std::erase(at->second, waiting) > 0 && at->second.empty()) waiting_.erase(at);
    steers_.erase(steered);
  }
  bool empty() const {
    const std::lock_guard lock(guard_);
    return waiting_.empty() && steers_.empty();
  }

 private:
  mutable std::mutex guard_;
  std::map<operation_id, std::vector<operation_id>> waiting_; ///< by the turn that they steer, none empty
  std::map<operation_id, operation_id> steers_;               ///< the same by the waiting turn
};

/// The end of a turn whose message the running turn `into` has taken.
own_outcome end_of_taken(const operation_id& into);
/// The turn that the message of this turn steers, by its block.
std::optional<operation_id> steered_by(const std::string& block);
/// Whether the message was told to a turn while that ran: it does not begin an exchange.
bool is_steering(const records::message_record& m);

/// The same words for the turn that answers their exchange again, as a message of no turn yet.
records::message_record copy_of_steering(records::message_record m);

struct read_steering {
  std::vector<commands::open_steered_call::steering> all;
  std::vector<operation_id> gone; ///< ended meanwhile: nothing to take
};
/// Those of these that `turn` can take: at least one, and no more text than one message can have. A message that is not
/// on disk yet is left out. Reads the store.
read_steering read_steering_of(const operation_id& turn, const operation_id& root,
                               const std::vector<operation_id>& waiting, store_reader& store);

} // namespace quell::controller::turns
