// The two clocks of quell, as types. Pure code never reads a clock: a `moment` is passed in.
#pragma once

#include <chrono>
#include <cstdint>

namespace quell {

using milliseconds = std::chrono::milliseconds;

/// An instant for people and records (UTC, milliseconds since 1970). Never used to decide an order.
using wall_time = std::chrono::sys_time<milliseconds>;

/// Time since boot including suspend (CLOCK_BOOTTIME), for deadlines, leases and measured durations. Nanoseconds.
struct boot_time {
  std::int64_t ns = 0;

  friend auto operator<=>(const boot_time&, const boot_time&) = default;
  friend boot_time operator+(boot_time t, std::chrono::nanoseconds d) { return {t.ns + d.count()}; }
  friend boot_time operator-(boot_time t, std::chrono::nanoseconds d) { return {t.ns - d.count()}; }
  friend std::chrono::nanoseconds operator-(boot_time a, boot_time b) { return std::chrono::nanoseconds{a.ns - b.ns}; }
};

/// "Now" on both clocks, read together by an actor or a loop and passed into pure code.
struct moment {
  wall_time wall{};
  boot_time boot{};

  friend bool operator==(const moment&, const moment&) = default;
  /// The wall instant that corresponds to `t` as seen from this moment.
  wall_time wall_at(boot_time t) const {
    return wall + std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds{t.ns - boot.ns});
  }
};

} // namespace quell
