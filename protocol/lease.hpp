// The lease of a worker, from both ends (DESIGN 3.8). Pure: times are passed in, all of them CLOCK_BOOTTIME of the
// local machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "protocol/time.hpp"

namespace quell {

/// The possible drift between the two clocks over a lease, plus slack: the controller waits length * 1.01 + 1 s.
inline constexpr std::chrono::nanoseconds lease_wait(std::chrono::milliseconds length) {
  const std::chrono::nanoseconds ns = length;
  return ns + ns / 100 + std::chrono::seconds{1};
}

/// The killing must be finished by the end of the lease, so it begins this much earlier (a tenth, 100 ms to 2 s).
inline constexpr std::chrono::nanoseconds kill_margin(std::chrono::milliseconds length) {
  return std::clamp<std::chrono::nanoseconds>(length / 10, std::chrono::milliseconds{100}, std::chrono::seconds{2});
}

/// The worker's end: counts from the *sending* of the heartbeat that was answered.
class worker_lease {
 public:
  /// Heartbeat `beat` is about to be sent. At most 1,000 unanswered beats are remembered.
  void sent(std::uint64_t beat, boot_time at);
  /// The answer to `beat` came. Returns the base (when that beat was sent), or nullopt if the answer is for an unknown
  /// or older beat.
  std::optional<boot_time> granted(std::uint64_t beat, std::chrono::milliseconds length);
  /// A welcome came; its lease counts from the sending of the hello.
  void welcomed(boot_time hello_sent_at, std::chrono::milliseconds length);
  /// A handover came at `at`: the length is `length` until the next grant. The base remains the sending of the last
  /// answered beat, because the controller answers no beat after it sends the handover: that is the latest instant
  /// certain to lie before the handover's sending, from which the controller counts.
  void handover_received(boot_time at, std::chrono::milliseconds length);
  /// The instant from which every running task's lease counts; nullopt before the first welcome.
  std::optional<boot_time> base() const { return base_; }
  std::chrono::milliseconds length() const { return length_; }
  /// The end of the lease for a task with its own, longer lease (nullopt: the worker's; a lease shorter than the
  /// worker's has no effect).
  std::optional<boot_time> end(std::optional<std::chrono::milliseconds> task_lease = std::nullopt) const;
  /// True from `end - kill_margin` on: nothing starts, and the killing begins.
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

/// The controller's end: counts from the *sending* of the answer, and after its own restart from its start. The
/// controller cannot know which of several answers arrived, so the furthest counts: a 60 s handover followed by a lost
/// 10 s grant still means 60 s.
class controller_lease {
 public:
  controller_lease() = default;
  /// After a restart: all that is known is that an answer was sent before `started_at`. `length` is the longest stored
  /// length.
  static controller_lease recovered(boot_time started_at, std::chrono::milliseconds length);
  /// An answer (welcome, lease_granted, handover) goes out at `at`.
  void answered(boot_time at, std::chrono::milliseconds length);
  /// A new session's welcome is about to be sent: earlier grants count until `session_taken`. Optional: a caller that
  /// uses neither function waits for the furthest instant of all sessions, which is safe but can be longer.
  void session_begins();
  /// The worker has acknowledged frame 1 (its welcome) of the new session: it now counts by this session's answers
  /// alone.
  void session_taken();
  /// From this instant on everything on that worker with this lease is dead by rule; nullopt = no lease was ever
  /// granted.
  std::optional<boot_time> dead_by(std::optional<std::chrono::milliseconds> task_lease = std::nullopt) const;

 private:
  struct grants {
    std::optional<boot_time> latest;   ///< when the newest answer was sent: the base of tasks with their own lease
    std::optional<boot_time> furthest; ///< the greatest (instant + lease_wait(length)) of all answers
    void add(boot_time at, std::chrono::milliseconds length);
    std::optional<boot_time> dead_by(std::optional<std::chrono::milliseconds> task_lease) const;
  };
  grants earlier_;
  grants current_;
};

} // namespace quell
