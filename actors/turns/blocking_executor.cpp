// A queue ordered by instant, and the thread that runs its jobs.
#include "actors/turns/blocking_executor.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace quell::controller::turns {

namespace {

class executor_thread final : public blocking_executor {
 public:
  explicit executor_thread(std::unique_ptr<store_reader> store)
      : store_(std::move(store)), thread_([this] { work(); }) {}
  ~executor_thread() override { end(); }
  executor_thread(const executor_thread&) = delete;
  executor_thread& operator=(const executor_thread&) = delete;

  void run_after(std::chrono::milliseconds wait, job what) override;
  void stop() override { end(); }

 private:
  void end();
  void work();

  std::unique_ptr<store_reader> store_;
  std::mutex guard_;
  std::condition_variable changed_;
  std::multimap<std::chrono::steady_clock::time_point, job> jobs_;
  bool is_stopped_ = false;
  std::thread thread_; ///< last: it uses all of the above
};

void executor_thread::run_after(std::chrono::milliseconds wait, job what) {
  {
    const std::lock_guard lock(guard_);
    if (is_stopped_) return;
    jobs_.emplace(std::chrono::steady_clock::now() + wait, std::move(what));
  }
  changed_.notify_one();
}

void executor_thread::end() {
  {
    const std::lock_guard lock(guard_);
    is_stopped_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  jobs_.clear();
}

void executor_thread::work() {
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

} // namespace

result<std::unique_ptr<blocking_executor>> blocking_executor::open(const open_store& open) {
  auto store = open();
  if (!store) return tl::unexpected(store.error());
  return std::make_unique<executor_thread>(std::move(*store));
}

} // namespace quell::controller::turns
