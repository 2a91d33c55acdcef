// The place that a running sub-agent takes of its turn's width.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "actors/turns/turn_port.hpp"

namespace quell::controller::turns {

/// Free again when it is given back, or when nothing of the sub-agent is left, such as after the death of its call's
/// actor. Any thread.
class sub_agent_place {
 public:
  /// `above` has taken the place, unless `is_taken` is false.
  explicit sub_agent_place(std::shared_ptr<turn_port> above, bool is_taken = true)
      : above_(std::move(above)), is_free_(!is_taken) {}
  ~sub_agent_place() { give_back(); }
  sub_agent_place(const sub_agent_place&) = delete;
  sub_agent_place& operator=(const sub_agent_place&) = delete;

  void give_back() {
    if (!is_free_.exchange(true)) above_->give_place_back();
  }

 private:
  const std::shared_ptr<turn_port> above_;
  std::atomic<bool> is_free_;
};

} // namespace quell::controller::turns
