// The threads on the way of a stop go before everybody else's: a machine that is overloaded is one on which people say
// stop.
//
// Linux's first-in-first-out scheduling at its lowest priority, if the process may (CAP_SYS_NICE, or RLIMIT_RTPRIO at
// least 1); otherwise nothing changes. Only threads that sleep most of the time may take it. Children and further
// threads start ordinary.
#pragma once

namespace quell {

enum class urgency : bool { ordinary, urgent };

/// Makes the calling thread urgent. False if the process may not.
bool become_urgent();

/// While it lives, threads that the calling thread starts are urgent too, if the process may and `wanted` says so: for
/// libraries that start their own.
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
