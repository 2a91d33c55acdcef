// Virtual time: one queue of events for the whole cluster, and the clocks of its machines, which run at different
// speeds.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "protocol/time.hpp"

namespace quell::simulation {

/// True time of the simulation in nanoseconds from its start, invisible inside the cluster.
using instant = std::int64_t;
inline constexpr instant us = 1'000;
inline constexpr instant ms = 1'000'000;
inline constexpr instant seconds = 1'000'000'000;

/// All events, in the order of time and, at one instant, of scheduling.
class event_queue {
 public:
  instant now() const { return now_; }
  void at(instant when, std::function<void()> what) {
    heap_.push({when < now_ ? now_ : when, ++made_, std::move(what)});
  }
  void after(instant delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
  /// Runs the next event if it is not later than `until`. False if there was none.
  bool step(instant until) {
    if (heap_.empty() || heap_.top().when > until) return false;
    now_ = heap_.top().when;
    auto what = std::move(const_cast<event&>(heap_.top()).what);
    heap_.pop();
    ++ran_;
    what();
    return true;
  }
  std::uint64_t ran() const { return ran_; }

 private:
  struct event {
    instant when;
    std::uint64_t order;
    std::function<void()> what;
    friend bool operator<(const event& a, const event& b) {
      return a.when != b.when ? a.when > b.when : a.order > b.order; // the soonest on top
    }
  };
  std::priority_queue<event> heap_;
  instant now_ = 0;
  std::uint64_t made_ = 0, ran_ = 0;
};

/// One machine's CLOCK_BOOTTIME and wall clock.
class machine_clock {
 public:
  static constexpr std::int64_t wall_base_ms = 1'790'000'000'000;

  machine_clock() = default;
  /// `ppm`: how much faster (or slower) than true time it runs, in parts per million.
  machine_clock(std::int64_t boot_ns, std::int64_t ppm) : boot_(boot_ns), ppm_(ppm) {}

  boot_time boot(instant t) const { return {boot_ + scaled(t - started_, 1'000'000 + ppm_, 1'000'000)}; }
  /// The first true instant at which this clock shows `b`.
  instant when(boot_time b) const { return started_ + scaled(b.ns - boot_, 1'000'000, 1'000'000 + ppm_) + 1; }
  moment now(instant t) const {
    return {wall_time{std::chrono::milliseconds{wall_base_ms + t / ms + wall_offset_ms_}}, boot(t)};
  }
  void step_wall(std::int64_t by_ms) { wall_offset_ms_ += by_ms; }
  void reboot(instant t) {
    started_ = t;
    boot_ = 3 * seconds;
  }

 private:
  static std::int64_t scaled(std::int64_t x, std::int64_t by, std::int64_t over) {
    __extension__ using wide = __int128;
    return static_cast<std::int64_t>(static_cast<wide>(x) * by / over);
  }
  std::int64_t boot_ = 100 * seconds;
  std::int64_t ppm_ = 0;
  instant started_ = 0;
  std::int64_t wall_offset_ms_ = 0;
};

} // namespace quell::simulation
