// The shared state of one turn's agents: the limits that hold for all of them together, and their use. Any
// thread.
#pragma once

#include <cstdint>
#include <mutex>

#include "controller/costs/limits.hpp"
#include "controller/model_costs.hpp"
#include "protocol/id.hpp"

namespace quell::controller::turns {

class turn_tree {
 public:
  turn_tree(const operation_id& turn, const costs::tree_limits& limits, std::uint32_t width)
      : turn_(turn), limits_(limits), width_(width) {}

  const operation_id& turn() const { return turn_; }
  const costs::tree_limits& limits() const { return limits_; }
  std::uint32_t width() const { return width_; }

  /// Counts one more running sub-agent; false if as many run as may.
  bool take_place() {
    const std::lock_guard lock(guard_);
    if (sub_agents_ >= width_) return false;
    ++sub_agents_;
    return true;
  }
  void give_place_back() {
    const std::lock_guard lock(guard_);
    --sub_agents_;
  }
  std::uint32_t sub_agents() const {
    const std::lock_guard lock(guard_);
    return sub_agents_;
  }

  /// The newest sum of the core. Answers come in the order of its transactions.
  void note(const tree_cost& sum) {
    const std::lock_guard lock(guard_);
    cost_ = sum;
  }
  tree_cost cost() const {
    const std::lock_guard lock(guard_);
    return cost_;
  }

 private:
  const operation_id turn_;
  const costs::tree_limits limits_;
  const std::uint32_t width_;
  mutable std::mutex guard_;
  std::uint32_t sub_agents_ = 0;
  tree_cost cost_;
};

} // namespace quell::controller::turns
