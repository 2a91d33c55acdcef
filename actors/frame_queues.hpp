// Frames that wait for the controller's actor, in one queue per worker key.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "actors/frame_queue.hpp"

namespace quell::controller {

class frame_queues {
 public:
  /// Keys are those of enrolled workers, so they are few. Old keys accumulate when workers change theirs; at the limit
  /// all queues are dropped (the announcement of a frame keeps its queue alive).
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
