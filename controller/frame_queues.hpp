// The frames of each worker's key that wait for the controller's actor.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "actors/frame_queue.hpp"

namespace quell::controller {

class frame_queues {
 public:
  /// Keys are those of enrolled workers, so they are few. Past ones pile up when workers change theirs; then all queues
  /// are dropped (what waits in one is held by its announcement).
  std::shared_ptr<actors::frame_queue> of(const std::string& public_key) {
    constexpr std::size_t most = 20'000;
    if (all_.size() >= most && !all_.contains(public_key)) all_.clear();
    auto& queue = all_[public_key];
    if (!queue) queue = std::make_shared<actors::frame_queue>();
    return queue;
  }

 private:
  std::unordered_map<std::string, std::shared_ptr<actors::frame_queue>> all_;
};

} // namespace quell::controller
