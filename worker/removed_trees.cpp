// One pass over the folder for all that came since the last one.
#include "worker/removed_trees.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace quell::worker {

removed_trees::removed_trees(std::string folder, emptying empties)
    : folder_(std::move(folder)), empties_(std::move(empties)), thread_([this] { run(); }) {}

removed_trees::~removed_trees() {
  {
    const std::lock_guard lock(guard_);
    is_over_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void removed_trees::has_more() {
  {
    const std::lock_guard lock(guard_);
    has_more_ = true;
  }
  wake_.notify_all();
}

void removed_trees::run() {
  std::unique_lock lock(guard_);
  for (;;) {
    wake_.wait(lock, [this] { return has_more_ || is_over_; });
    if (is_over_) return;
    has_more_ = false;
    lock.unlock();
    if (!empties_(folder_)) spdlog::warn("a removed workspace cannot be deleted; delete what is in {}", folder_);
    lock.lock();
  }
}

} // namespace quell::worker
