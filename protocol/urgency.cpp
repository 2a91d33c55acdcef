// sched(7): SCHED_FIFO for the calling thread.
#include "protocol/urgency.hpp"

#include <cstdint>
#include <thread>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace quell {

namespace {
constexpr int lowest_priority = 1; ///< above every ordinary thread, below everything else that is real time here

bool schedule(int policy, int priority) {
  sched_param parameters{};
  parameters.sched_priority = priority;
  return ::sched_setscheduler(0, policy, &parameters) == 0;
}

/// sched_setattr(2), for which this C library has no declaration.
struct scheduling {
  std::uint32_t size = sizeof(scheduling), policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t turn_ns = 0, deadline_ns = 0, period_ns = 0;
};
static_assert(sizeof(scheduling) == 48);

/// Sleeps for 30 microseconds, so that others run: a kernel may notice the end of a turn only at the next tick of its
/// clock, milliseconds later, and keep its own threads, which finish commits, behind a process that has always
/// something to run.
void rest_a_moment() {
  // Timers of a thread may be late by 50 microseconds unless it says otherwise.
  thread_local const int precise = ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  (void)precise;
  std::this_thread::sleep_for(std::chrono::microseconds(30));
}
} // namespace

bool become_urgent() { return schedule(SCHED_FIFO | SCHED_RESET_ON_FORK, lowest_priority); }

void take_short_turns(std::chrono::microseconds length) {
  scheduling now;
  if (::syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0 || now.policy != SCHED_OTHER) return;
  now.turn_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(length).count());
  (void)::syscall(SYS_sched_setattr, 0, &now, 0);
}

void turn_keeper::worked() {
  const auto now = clock::now();
  if (now - turn_ < length_) return;
  if (now - work_ < rests_after_) {
    ::sched_yield();
    turn_ = clock::now();
    return;
  }
  rest_a_moment();
  begins();
}

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
