// The later jobs of an actor by their instants, and the one tick that is on its way for the first of them. They wait
// here and not in the system's clock, so that the actor's end frees them.
#pragma once

#include <caf/actor_clock.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "actors/messages.hpp"

namespace quell::actors {

template <class Job>
class due_table {
 public:
  using time_point = caf::actor_clock::time_point;

  void add(time_point at, Job what) { jobs_.emplace(at, std::move(what)); }
  /// The first job, if it is due.
  std::optional<Job> take(time_point now) {
    if (jobs_.empty() || jobs_.begin()->first > now) return std::nullopt;
    return std::move(jobs_.extract(jobs_.begin()).mapped());
  }
  /// Sends the actor a tick for the first job, unless one is on its way that comes no later. A job that is due comes
  /// behind the messages that wait, which can bring earlier ones.
  template <class Pointer>
  void arm(Pointer self) {
    if (jobs_.empty()) return;
    const auto at = jobs_.begin()->first, now = self->clock().now();
    if (tick_at_ && *tick_at_ <= at) return;
    tick_at_ = at;
    const clock_ticked tick{++generation_};
    if (at <= now)
      self->send(self, tick);
    else
      self->delayed_send(self, at - now, tick);
  }
  /// Whether this tick is the one that is waited for: timers cannot be cancelled, so the generation identifies an
  /// outdated one.
  bool ticked(const clock_ticked& tick) {
    if (tick.generation != generation_) return false;
    tick_at_.reset();
    return true;
  }

 private:
  std::multimap<time_point, Job> jobs_;
  std::uint64_t generation_ = 0;
  std::optional<time_point> tick_at_; ///< of the tick that is on its way
};

} // namespace quell::actors
