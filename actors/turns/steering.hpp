// Messages that steer a running turn. Each one waits in its scope's queue as a turn of its own; before the running turn
// asks its model again, it takes those that are on disk. What it does not take begins when it is over, or ends with its
// cancel.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/commands/open_steered_call.hpp"
#include "controller/store_reader.hpp"
#include "protocol/id.hpp"

namespace quell::controller::turns {

/// The waiting turns by the turn that they steer. Any thread. Lost with the process, and filled again from the rows of
/// the waiting turns.
class steering_table {
 public:
  void add(const operation_id& turn, const operation_id& waiting) {
    const std::lock_guard lock(guard_);
    waiting_[turn].push_back(waiting);
  }
  /// The oldest, at most 16: the others are told before the next model call.
  std::vector<operation_id> of(const operation_id& turn) const {
    const std::lock_guard lock(guard_);
    const auto at = waiting_.find(turn);
    if (at == waiting_.end()) return {};
    constexpr std::size_t most = 16;
    const auto count = std::min(most, at->second.size());
    return {at->second.begin(), at->second.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  void drop(const operation_id& turn, const operation_id& waiting) {
    const std::lock_guard lock(guard_);
    const auto at = waiting_.find(turn);
    if (at != waiting_.end()) std::erase(at->second, waiting);
  }
  void over(const operation_id& turn) {
    const std::lock_guard lock(guard_);
    waiting_.erase(turn);
  }

 private:
  mutable std::mutex guard_;
  std::map<operation_id, std::vector<operation_id>> waiting_;
};

/// The turn that the message of this turn steers, by its block.
std::optional<operation_id> steered_by(const std::string& block);
/// Whether the message was told to a turn while that ran: it does not begin an exchange.
bool is_steering(const records::message_record& m);

struct read_steering {
  std::vector<commands::open_steered_call::steering> all;
  std::vector<operation_id> gone; ///< ended meanwhile: nothing to take
};
/// Those of these that `turn` can take. A message that is not on disk yet is left out. Reads the store.
read_steering read_steering_of(const operation_id& turn, const operation_id& root,
                               const std::vector<operation_id>& waiting, store_reader& store);

} // namespace quell::controller::turns
