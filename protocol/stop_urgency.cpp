// sched(7): SCHED_FIFO and back, for other threads of this process.
#include "protocol/stop_urgency.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace quell {

namespace {

using stop_clock = std::chrono::steady_clock;

constexpr int priority_of_stops = 1; ///< as in urgency.cpp

/// sched_setattr(2), for which this C library has no declaration.
struct ordinary_scheduling {
  std::uint32_t size = sizeof(ordinary_scheduling), policy = SCHED_OTHER;
  /// Stays as `raise` set it: a process that may be real time by RLIMIT_RTPRIO alone must not take it back, and the
  /// whole call would be refused.
  std::uint64_t flags = 1; // SCHED_FLAG_RESET_ON_FORK
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t turn_ns = 0, deadline_ns = 0, period_ns = 0;
};

class stop_lane {
 public:
  void join(pid_t thread, std::chrono::microseconds turns) {
    const std::lock_guard lock(mutex_);
    threads_.push_back({thread, turns});
    if (is_urgent_) raise(thread);
  }

  void leave(pid_t thread) {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(threads_.begin(), threads_.end(), [&](const member& m) { return m.thread == thread; });
    if (at == threads_.end()) return;
    if (is_urgent_) lower(*at);
    threads_.erase(at);
  }

  void begin() {
    const std::lock_guard lock(mutex_);
    if (++stops_ > 1) return;
    const auto now = stop_clock::now();
    if (now - second_ >= std::chrono::seconds(1)) {
      second_ = now;
      in_second_ = 0;
    }
    if (!is_allowed_ || in_second_ >= most_urgent_stops) return;
    ++in_second_;
    since_ = now;
    is_urgent_ = true;
    for (const member& m : threads_) raise(m.thread);
  }

  void end() {
    const std::lock_guard lock(mutex_);
    if (--stops_ == 0) lower_all();
  }

  void bound() {
    if (!is_urgent_) return;
    const std::lock_guard lock(mutex_);
    if (stop_clock::now() - since_ >= longest_stop_urgency) lower_all();
  }

 private:
  struct member {
    pid_t thread;
    std::chrono::microseconds turns;
  };

  void raise(pid_t thread) {
    sched_param parameters{};
    parameters.sched_priority = priority_of_stops;
    if (is_allowed_) is_allowed_ = ::sched_setscheduler(thread, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0;
  }

  static void lower(const member& m) {
    ordinary_scheduling ordinary;
    ordinary.nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(m.thread));
    ordinary.turn_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(m.turns).count());
    (void)::syscall(SYS_sched_setattr, m.thread, &ordinary, 0);
  }

  void lower_all() {
    if (!is_urgent_) return;
    is_urgent_ = false;
    for (const member& m : threads_) lower(m);
  }

  std::mutex mutex_;
  std::vector<member> threads_;
  std::size_t stops_ = 0;
  bool is_allowed_ = true; ///< until the kernel says no
  stop_clock::time_point since_{}, second_{};
  unsigned in_second_ = 0;
  std::atomic<bool> is_urgent_ = false;
};

/// Scheduling is the process's, so there is one.
stop_lane& lane() {
  static stop_lane the_lane;
  return the_lane;
}

} // namespace

on_way_of_stops::on_way_of_stops(std::chrono::microseconds turns) : thread_(static_cast<pid_t>(::syscall(SYS_gettid))) {
  lane().join(thread_, turns);
}

on_way_of_stops::~on_way_of_stops() { lane().leave(thread_); }

stop_on_its_way::stop_on_its_way() { lane().begin(); }

stop_on_its_way::~stop_on_its_way() { lane().end(); }

void bound_stop_urgency() { lane().bound(); }

} // namespace quell
