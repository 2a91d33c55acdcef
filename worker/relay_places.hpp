// The relayed connections by the task that made each. At the limit the task with the most makes room, so that no task
// keeps another one, or a cancel, from the controller. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "protocol/id.hpp"

namespace quell::worker {

class relay_places {
 public:
  explicit relay_places(std::size_t most) : most_(most) {}

  /// Ids of connections grow with time.
  void admit(std::uint64_t connection, const operation_id& task) {
    tasks_.emplace(connection, task);
    by_task_[task].insert(connection);
  }
  void leave(std::uint64_t connection) {
    const auto at = tasks_.find(connection);
    if (at == tasks_.end()) return;
    const auto of_task = by_task_.find(at->second);
    of_task->second.erase(connection);
    if (of_task->second.empty()) by_task_.erase(of_task);
    tasks_.erase(at);
  }
  void clear() {
    tasks_.clear();
    by_task_.clear();
  }
  /// The connection that must leave before another one is admitted; nullopt: there is room.
  std::optional<std::uint64_t> gives_way() const {
    if (tasks_.size() < most_) return std::nullopt;
    const std::set<std::uint64_t>* largest = nullptr;
    for (const auto& [task, connections] : by_task_)
      if (!largest || connections.size() > largest->size()) largest = &connections;
    return *largest->begin();
  }
  std::size_t size() const { return tasks_.size(); }

 private:
  std::size_t most_;
  std::unordered_map<std::uint64_t, operation_id> tasks_;
  std::map<operation_id, std::set<std::uint64_t>> by_task_;
};

} // namespace quell::worker
