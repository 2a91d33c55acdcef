// The lease of a worker, from both ends (DESIGN 3.8). Pure: times are handed in, all of them CLOCK_BOOTTIME of the own
// machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "protocol/time.hpp"

namespace quell {

/// What the two clocks may drift apart over a lease, plus slack: the controller waits length * 1.01 + 1 s.
inline constexpr std::chrono::nanoseconds lease_wait(std::chrono::milliseconds length) {
  const std::chrono::nanoseconds ns = length;
  return ns + ns / 100 + std::chrono::seconds{1};
}

/// Killing is done, not begun, by the end of the lease: it begins this much earlier (a tenth, 100 ms to 2 s).
inline constexpr std::chrono::nanoseconds kill_margin(std::chrono::milliseconds length) {
  return std::clamp<std::chrono::nanoseconds>(length / 10, std::chrono::milliseconds{100}, std::chrono::seconds{2});
}

/// The worker's end: counts from the *sending* of the heartbeat that was answered.
class worker_lease {
 public:
  /// Heartbeat `beat` is about to be sent. At most 1,000 unanswered ones are remembered.
  void sent(std::uint64_t beat, boot_time at);
  /// Its answer came. Returns the base (when that beat was sent), or nullopt if the answer is for an unknown or older
  /// beat.
  std::optional<boot_time> granted(std::uint64_t beat, std::chrono::milliseconds length);
  /// A welcome counts from the sending of the hello.
  void welcomed(boot_time hello_sent_at, std::chrono::milliseconds length);
  /// A handover came at `at`: the length is `length` until the next grant. The base stays the last answered beat's: the
  /// latest instant that surely lies before the handover's sending, from which the controller counts. It answers no
  /// beat after sending it.
  void handed_over(boot_time at, std::chrono::milliseconds length);
  /// The instant from which every running task's lease counts; nullopt before the first welcome.
  std::optional<boot_time> base() const { return base_; }
  std::chrono::milliseconds length() const { return length_; }
  /// End for a task with its own longer lease (nullopt: the worker's; a shorter one than the worker's has no effect).
  std::optional<boot_time> end(std::optional<std::chrono::milliseconds> task_lease = std::nullopt) const;
  /// True from `end - kill_margin` on: no start, and the killing begins.
  bool over(boot_time now, std::optional<std::chrono::milliseconds> task_lease = std::nullopt) const;

 private:
  struct pending_beat {
    std::uint64_t beat;
    boot_time at;
  };
  std::deque<pending_beat> sent_;
  std::optional<boot_time> base_;
  std::chrono::milliseconds length_{0};
};

/// The controller's end: counts from the *sending* of the answer, and after its own restart from its start. Which of
/// several answers arrived is unknown, so the furthest of them counts: a 60 s handover followed by a lost 10 s grant
/// still means 60 s.
class controller_lease {
 public:
  controller_lease() = default;
  /// After a restart: all that is known is that an answer was sent before `started_at`. `length` is the longest that
  /// was stored.
  static controller_lease recovered(boot_time started_at, std::chrono::milliseconds length);
  /// An answer (welcome, lease_granted, handover) goes out at `at`.
  void answered(boot_time at, std::chrono::milliseconds length);
  /// A new session's welcome is about to be answered: what was granted before counts on until `session_taken`.
  /// Optional: who never calls these two waits for the furthest instant of all sessions, which is safe and at most
  /// longer.
  void session_begins();
  /// The worker has acknowledged frame 1 (its welcome) of the new session: it counts by this session's answers alone.
  void session_taken();
  /// From this instant on everything on that worker with this lease is dead by rule; nullopt = no lease was ever
  /// granted.
  std::optional<boot_time> dead_by(std::optional<std::chrono::milliseconds> task_lease = std::nullopt) const;

 private:
  struct grants {
    std::optional<boot_time> latest;   ///< when the newest answer went out: the base of tasks with an own lease
    std::optional<boot_time> furthest; ///< the greatest (instant + lease_wait(length)) of all answers
    void add(boot_time at, std::chrono::milliseconds length);
    std::optional<boot_time> dead_by(std::optional<std::chrono::milliseconds> task_lease) const;
  };
  grants earlier_;
  grants current_;
};

} // namespace quell
