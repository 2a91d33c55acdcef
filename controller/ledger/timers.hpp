// The timers of operations, and the instants at which things are forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "controller/ledger/slab.hpp"
#include "protocol/id.hpp"
#include "protocol/time.hpp"

namespace quell::controller::live {

struct timer {
  enum class purpose : std::uint8_t { deadline, unconfirmed, lease, restored };
  boot_time at;
  index operation;
  std::uint64_t seq;
  purpose what;
  friend bool operator>(const timer& a, const timer& b) { return a.at > b.at; }
};
/// The most timers and expiries that one tick handles. Each ends or stops an operation, so they come in slices: a
/// cancel that arrives meanwhile waits for one slice.
inline constexpr std::size_t most_timers_at_once = 64;
/// Outdated timers are only dropped; as many of them cost what one that acts costs.
inline constexpr std::size_t outdated_timers_for_one = 16;

/// An entry kept until an instant: a tombstone, or a cutoff (scope and generation).
struct expiry {
  boot_time at;
  std::optional<operation_id> tombstone;
  index scope = none;
  std::uint32_t generation = 0;
  friend bool operator>(const expiry& a, const expiry& b) { return a.at > b.at; }
};
template <class T>
using soonest_first = std::priority_queue<T, std::vector<T>, std::greater<>>;

} // namespace quell::controller::live
