// One webhook's progress through the events: the delivered ones, the next one, the time of the next try. Pure.
//
// In order, one at a time, at least once. An event is done when the receiver has answered 2xx, or when it is given up:
//  - 400, 413, 415, 422: the receiver understands the request and refuses this event: given up after five tries;
//  - everything else (no connection, 5xx, 3xx, 401, 403, 404, 408, 429 …) can be transient: retried after 1 s, 2 s,
//    4 s … up to five minutes, or when Retry-After says, until the event is a day old;
//  - 410: the receiver is gone: nothing is sent until the program starts again, which delivers the kept events.
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

/// The result of one read of the store.
struct page {
  std::vector<item> items;     ///< matching events, in order
  std::uint64_t looked_to = 0; ///< no matching event up to here is missing in `items`
  bool is_whole = true;        ///< false: there can be more after `looked_to`
  std::uint64_t lost = 0;      ///< events after our position that the store no longer keeps, matching or not
};

/// The outcome of an item, for the log; "" = nothing to log.
using sentence = std::string;

class delivery {
 public:
  explicit delivery(std::uint64_t position) : position_(position) {}

  /// New events are possible.
  void nudge() { is_stale_ = true; }
  /// True if the store must be read after `position`. Answer with `read` or `not_read`.
  bool wants_to_read(boot_time now) const;
  void reads() { is_reading_ = true, is_stale_ = false; }
  sentence read(page p);
  void not_read(boot_time now);

  /// The item to send now, or nullptr. Answer with `answered`.
  const item* to_send(boot_time now) const;
  void sends() { is_sending_ = true; }
  /// `status` 0: no answer came; `why` has the reason. `chance` 0 to 1.
  sentence answered(long status, const std::string& why, milliseconds retry_after, moment now, double chance);

  /// Everything up to here is delivered or given up.
  std::uint64_t position() const { return position_; }
  std::optional<boot_time> next_at() const;
  /// For display: "3 delivered, nothing waits", or the reason why not.
  std::string state(moment now) const;

 private:
  void leave(std::uint64_t id);
  sentence give_up(const std::string& why);

  std::uint64_t position_;
  std::deque<item> waiting_;
  bool is_stale_ = true, is_reading_ = false, is_sending_ = false, is_gone_ = false;
  std::uint64_t looked_to_ = 0; ///< of the page that waits
  boot_time not_before_{};
  unsigned failures_ = 0; ///< consecutive
  unsigned refusals_ = 0; ///< of the first item that waits
  std::uint64_t delivered_ = 0, given_up_ = 0;
  std::string trouble_;
};

} // namespace quell::controller::webhooks
