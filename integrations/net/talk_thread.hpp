// One thread for the talk with one server: it drives the network, and everything that other threads want of the talk
// goes through one list of jobs, so a call's cancel comes after its beginning.
//
// A `Talk` is used by this thread alone. It has
//   step(now)          handles what has arrived and whatever is due
//   next(), has_news() when `step` is needed next, and whether it is now
//   end(now)           ends everything open; nothing begins afterwards
//   is_quiet()         after `end`: nothing is on its way any more, which must come to be
//   abandon()          drops what is left
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "integrations/models/transfers.hpp"

namespace quell::integrations {

/// Jobs from any thread. Lives as long as the thread or any call.
template <class Talk>
class talk_jobs {
 public:
  using time_point = transfers::clock::time_point;
  using job = std::function<void(Talk&, time_point)>;

  explicit talk_jobs(transfers& network) : network_(&network) {}
  /// Returns false if the thread has ended.
  bool put(job what) {
    const std::lock_guard lock(guard_);
    if (!network_) return false;
    jobs_.push_back(std::move(what));
    is_waiting_ = true;
    network_->wake();
    return true;
  }
  bool is_waiting() const { return is_waiting_; }
  std::vector<job> take() {
    const std::lock_guard lock(guard_);
    is_waiting_ = false;
    return std::exchange(jobs_, {});
  }
  /// The final `take`; afterwards `put` returns false.
  std::vector<job> close() {
    const std::lock_guard lock(guard_);
    network_ = nullptr;
    is_waiting_ = false;
    return std::exchange(jobs_, {});
  }

 private:
  std::mutex guard_;
  transfers* network_;
  std::vector<job> jobs_;
  std::atomic<bool> is_waiting_ = false;
};

template <class Talk>
class talk_thread {
 public:
  using transfer_over = std::function<void(CURL*, CURLcode)>;

  /// `over` gets each transfer that has ended by itself.
  talk_thread(std::unique_ptr<transfers> network, transfer_over over)
      : network_(std::move(network)), over_(std::move(over)), jobs_(std::make_shared<talk_jobs<Talk>>(*network_)) {}
  talk_thread(const talk_thread&) = delete;
  talk_thread& operator=(const talk_thread&) = delete;
  ~talk_thread() {
    is_ending_ = true;
    network_->wake();
    if (thread_.joinable()) thread_.join();
  }

  /// Call once.
  void begin(const std::function<std::unique_ptr<Talk>(transfers&)>& make) {
    talk_ = make(*network_);
    thread_ = std::thread([this] { run(); });
  }
  /// Valid before `begin`, too: the jobs wait.
  const std::shared_ptr<talk_jobs<Talk>>& jobs() const { return jobs_; }

 private:
  using clock = transfers::clock;

  void run() {
    sigset_t all; // signals are for the program's own threads; SIGPIPE stays blocked everywhere
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (look_around(), !is_ending_) wait();
    for (const auto& late : jobs_->close()) late(*talk_, clock::now());
    talk_->end(clock::now());
    while (look_around(), !talk_->is_quiet()) wait();
    talk_->abandon();
    talk_.reset();
  }
  void wait() {
    const bool busy = jobs_->is_waiting() || talk_->has_news();
    const auto until = std::min(talk_->next(), clock::now() + std::chrono::minutes(1));
    network_->wait(
        busy ? clock::time_point() : until, [this] { look_around(); }, over_);
  }
  /// Called between any two pieces of network work, so that a cancel waits for at most one piece.
  void look_around() {
    while (jobs_->is_waiting())
      for (const auto& one : jobs_->take()) one(*talk_, clock::now());
    talk_->step(clock::now());
  }

  std::unique_ptr<transfers> network_;
  const transfer_over over_;
  const std::shared_ptr<talk_jobs<Talk>> jobs_;
  std::unique_ptr<Talk> talk_;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

} // namespace quell::integrations
