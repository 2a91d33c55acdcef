// Urgency of threads that are busy with other things at other times, for as long as a stop is on its way: they are
// scheduled as `become_urgent` says then, if the process may; otherwise nothing changes.
//
// A machine that is full of work makes each of them wait for milliseconds at every step of a stop. They cannot be
// urgent always: what a stop sets rolling, and callers who ask for other things, keep them busy. So the urgency is
// short, and there is only so much of it in a second, however many stops are ordered.
#pragma once

#include <chrono>

#include <sys/types.h>

namespace quell {

/// While it exists, the thread that made it is on the way of stops. Any thread may destroy it, before that one ends.
class on_way_of_stops {
 public:
  /// `turns`: what it has taken with `take_short_turns`.
  explicit on_way_of_stops(std::chrono::microseconds turns);
  ~on_way_of_stops();
  on_way_of_stops(const on_way_of_stops&) = delete;
  on_way_of_stops& operator=(const on_way_of_stops&) = delete;

 private:
  const pid_t thread_;
};

/// A stop is on its way until this is destroyed. Any thread.
class stop_on_its_way {
 public:
  stop_on_its_way();
  ~stop_on_its_way();
  stop_on_its_way(const stop_on_its_way&) = delete;
  stop_on_its_way& operator=(const stop_on_its_way&) = delete;
};

inline constexpr std::chrono::milliseconds longest_stop_urgency{10}; ///< at a time
inline constexpr unsigned most_urgent_stops = 20;                    ///< in a second; stops that overlap count as one

/// Ends the urgency of a stop that takes longer than that. These threads call it between their pieces of work; it costs
/// nothing while no stop is on its way.
void bound_stop_urgency();

} // namespace quell
