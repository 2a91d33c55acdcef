// Real-time scheduling for the threads that carry a stop: a machine is often overloaded just when people want to stop
// things.
//
// Uses Linux's first-in-first-out scheduling at its lowest priority, if the process may (CAP_SYS_NICE, or RLIMIT_RTPRIO
// at least 1); otherwise nothing changes. Only threads that sleep most of the time may use it. Children and further
// threads start with ordinary scheduling.
#pragma once

#include <chrono>

namespace quell {

enum class urgency : bool { ordinary, urgent };

/// Makes the calling thread urgent. False if the process lacks permission.
bool become_urgent();

/// Turns of the processor. A thread that wakes goes before one that computes in longer turns, so a thread that others
/// wait for has shorter ones than they have.
namespace turns_of {
inline constexpr std::chrono::microseconds deciding{
    100}; ///< the controller's actor, commits, single rows; the shortest
inline constexpr std::chrono::microseconds answering{200};
inline constexpr std::chrono::microseconds listing{300};
inline constexpr std::chrono::microseconds bulk{500}; ///< long lists, streams
} // namespace turns_of

/// Makes the calling thread ordinary, but quick to wake: it computes in turns of this length, and in return need not
/// wait for the end of a longer turn of another thread. Needs no permission; nothing changes before Linux 6.12. Threads
/// that it starts inherit this.
void take_short_turns(std::chrono::microseconds length);

/// For a thread that can have work for long: it yields after each turn, and rests at the end of the first turn by which
/// it has worked for `rests_after`. Of one thread.
class turn_keeper {
 public:
  explicit turn_keeper(std::chrono::microseconds length,
                       std::chrono::microseconds rests_after = std::chrono::milliseconds(1))
      : length_(length), rests_after_(rests_after) {}
  /// The thread has slept.
  void begins() { turn_ = work_ = clock::now(); }
  /// Called between pieces of work.
  void worked();

 private:
  using clock = std::chrono::steady_clock;
  std::chrono::microseconds length_, rests_after_;
  clock::time_point turn_ = clock::now(), work_ = turn_; ///< their beginnings
};

/// While it exists, threads started by the calling thread are urgent, too, if the process may and `wanted` is true: for
/// libraries that start their own threads.
class urgent_offspring {
 public:
  explicit urgent_offspring(urgency wanted);
  ~urgent_offspring();
  urgent_offspring(const urgent_offspring&) = delete;
  urgent_offspring& operator=(const urgent_offspring&) = delete;

 private:
  int policy_before_ = -1; ///< -1: nothing was changed
  int priority_before_ = 0;
};

} // namespace quell
