// Real-time scheduling for the threads that carry a stop: a machine is often overloaded just when people want to stop
// things.
//
// Uses Linux's first-in-first-out scheduling at its lowest priority, if the process may (CAP_SYS_NICE, or RLIMIT_RTPRIO
// at least 1); otherwise nothing changes. Only threads that sleep most of the time may use it. Children and further
// threads start with ordinary scheduling.
#pragma once

namespace quell {

enum class urgency : bool { ordinary, urgent };

/// Makes the calling thread urgent. False if the process lacks permission.
bool become_urgent();

/// Makes the calling thread ordinary, but quick to wake: it computes in turns of a tenth of a millisecond, and in
/// return need not wait for the end of the turn of a thread that only computes. For threads that answer clients. Needs
/// no permission; nothing changes before Linux 6.12. Threads that it starts inherit this.
void take_short_turns();

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
