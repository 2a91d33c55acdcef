// One webhook's way through the events: what was delivered, what comes next, when to try again. Pure.
//
// In order, one at a time, at least once: an event is behind us when the receiver has said 2xx, or when it is given up:
//  - 400, 413, 415, 422: the receiver understands us and refuses this very event: given up after five tries;
//  - everything else (no connection, 5xx, 3xx, 401, 403, 404, 408, 429 …) may pass: tried again, after 1 s, 2 s, 4 s …
//  up
//    to five minutes, or when Retry-After says, until the event is a day old;
//  - 410: the receiver is gone: nothing more is sent until the program starts again. What is kept then is delivered.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "protocol/time.hpp"

namespace quell::controller::webhooks {

struct item {
  std::uint64_t id = 0;
  wall_time at{};
  std::string json; ///< the event's envelope
};

/// A look at the store.
struct page {
  std::vector<item> items;     ///< those that are wanted, in order
  std::uint64_t looked_to = 0; ///< no wanted event up to here is missing in `items`
  bool is_whole = true;        ///< false: there may be more behind `looked_to`
  std::uint64_t lost = 0;      ///< events behind our position that the store no longer keeps, wanted or not
};

/// What happened with an item, for the log; "" = nothing to tell.
using sentence = std::string;

class delivery {
 public:
  explicit delivery(std::uint64_t position) : position_(position) {}

  /// There may be something new.
  void nudge() { is_stale_ = true; }
  /// Whether the store is to be looked at, behind `position`. Answer with `read` or `not_read`.
  bool wants_to_read(boot_time now) const;
  void reads() { is_reading_ = true, is_stale_ = false; }
  sentence read(page p);
  void not_read(boot_time now);

  /// What is to be sent now. Answer with `answered`.
  const item* to_send(boot_time now) const;
  void sends() { is_sending_ = true; }
  /// `status` 0: no answer came; `why` says what came instead. `chance` 0 to 1.
  sentence answered(long status, const std::string& why, milliseconds retry_after, moment now, double chance);

  /// Everything up to here is behind us.
  std::uint64_t position() const { return position_; }
  std::optional<boot_time> next_at() const;
  /// For people: "3 delivered, nothing waits" or why not.
  std::string state(moment now) const;

 private:
  void leave(std::uint64_t id);
  sentence give_up(const std::string& why);

  std::uint64_t position_;
  std::deque<item> waiting_;
  bool is_stale_ = true, is_reading_ = false, is_sending_ = false, is_gone_ = false;
  std::uint64_t looked_to_ = 0; ///< of the page that waits
  boot_time not_before_{};
  unsigned failures_ = 0; ///< in a row
  unsigned refusals_ = 0; ///< of the first that waits
  std::uint64_t delivered_ = 0, given_up_ = 0;
  std::string trouble_;
};

} // namespace quell::controller::webhooks
