// One thread for what may wait for a disk or for an instant: reading the store and task output, trying again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "storage/queries.hpp"

namespace quell::controller::turns {

class errands {
 public:
  using job = std::function<void(storage::queries&)>;

  static result<std::unique_ptr<errands>> open(const std::string& store_directory);
  ~errands();
  errands(const errands&) = delete;
  errands& operator=(const errands&) = delete;

  /// Any thread. Jobs run one after the other, in the order of their instants. After `stop` nothing runs any more.
  void run(job what) { run_after(std::chrono::milliseconds{0}, std::move(what)); }
  void run_after(std::chrono::milliseconds wait, job what);
  void stop();

 private:
  explicit errands(std::unique_ptr<storage::queries> store);
  void work();

  std::unique_ptr<storage::queries> store_;
  std::mutex guard_;
  std::condition_variable changed_;
  std::multimap<std::chrono::steady_clock::time_point, job> jobs_;
  bool is_stopped_ = false;
  std::thread thread_; ///< last: it uses all of the above
};

} // namespace quell::controller::turns
