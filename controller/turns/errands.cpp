// A queue by instant, and the thread that empties it.
#include "controller/turns/errands.hpp"

namespace quell::controller::turns {

result<std::unique_ptr<errands>> errands::open(const std::string& store_directory) {
  auto store = storage::queries::open(store_directory);
  if (!store) return tl::unexpected(store.error());
  return std::unique_ptr<errands>(new errands(std::move(*store)));
}

errands::errands(std::unique_ptr<storage::queries> store) : store_(std::move(store)), thread_([this] { work(); }) {}

errands::~errands() { stop(); }

void errands::run_after(std::chrono::milliseconds wait, job what) {
  {
    const std::lock_guard lock(guard_);
    if (is_stopped_) return;
    jobs_.emplace(std::chrono::steady_clock::now() + wait, std::move(what));
  }
  changed_.notify_one();
}

void errands::stop() {
  {
    const std::lock_guard lock(guard_);
    is_stopped_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  jobs_.clear();
}

void errands::work() {
  std::unique_lock lock(guard_);
  while (!is_stopped_) {
    if (jobs_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto next = jobs_.begin();
    if (next->first > std::chrono::steady_clock::now()) {
      changed_.wait_until(lock, next->first);
      continue;
    }
    const job what = std::move(next->second);
    jobs_.erase(next);
    lock.unlock();
    what(*store_);
    lock.lock();
  }
}

} // namespace quell::controller::turns
