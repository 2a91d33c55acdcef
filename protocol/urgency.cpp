// sched(7): SCHED_FIFO for the calling thread.
#include "protocol/urgency.hpp"

#include <sched.h>

namespace quell {

namespace {
constexpr int lowest_priority = 1; ///< above every ordinary thread, below everything else that is real time here

bool schedule(int policy, int priority) {
  sched_param parameters{};
  parameters.sched_priority = priority;
  return ::sched_setscheduler(0, policy, &parameters) == 0;
}
} // namespace

bool become_urgent() { return schedule(SCHED_FIFO | SCHED_RESET_ON_FORK, lowest_priority); }

urgent_offspring::urgent_offspring(urgency wanted) {
  sched_param before{};
  const int policy = ::sched_getscheduler(0);
  if (wanted == urgency::ordinary || policy < 0 || ::sched_getparam(0, &before) != 0) return;
  if (!schedule(SCHED_FIFO, lowest_priority)) return;
  policy_before_ = policy;
  priority_before_ = before.sched_priority;
}

urgent_offspring::~urgent_offspring() {
  if (policy_before_ >= 0) (void)schedule(policy_before_, priority_before_);
}

} // namespace quell
