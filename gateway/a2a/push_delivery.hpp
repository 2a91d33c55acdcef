// The work for one push notification config: when its task is looked at, what is sent, what an answer means. Pure.
//
// The newest state of the task is delivered at least once; states that pass while a receiver is away are left out, the
// last one never. A delivery is done when the receiver has answered 2xx, or when it is given up:
//  - 400, 413, 415, 422: the receiver refuses this notification: given up after five tries;
//  - 410: the receiver is gone, and the config is dropped;
//  - everything else is retried after 1 s, 2 s, 4 s … up to five minutes, or when Retry-After says, for a day; then the
//    config is dropped.
#pragma once

#include <optional>
#include <string>

#include "protocol/id.hpp"
#include "protocol/time.hpp"

namespace quell::controller::http::a2a {

/// A task at one moment.
struct push_look {
  std::string state; ///< equal for equal states
  bool is_over = false;
  std::string body; ///< JSON: a StreamResponse
  // Which events are about it:
  std::optional<operation_id> root{}; ///< of its tree
  std::optional<cancel_id> cancel{};  ///< the one that stops it
};

class push_delivery {
 public:
  /// `last`: the newest state that an earlier life delivered; "" = none.
  explicit push_delivery(std::string last) : last_(std::move(last)) {}

  /// The task may have changed.
  void nudge() { is_stale_ = true; }
  bool wants_to_look(boot_time now) const;
  void looks() { is_looking_ = true, is_stale_ = false; }
  /// Nullopt: the task is not kept any more.
  void took(const std::optional<push_look>& look, moment now);
  void not_looked(boot_time now);

  /// The body to send now, or nullptr. Answer with `answered`.
  const std::string* to_send(boot_time now) const;
  void sends() { is_sending_ = true; }
  /// `status` 0: no answer came. Returns a sentence for the log; "" = nothing to log.
  std::string answered(long status, const std::string& why, milliseconds retry_after, moment now);

  /// Nothing more will be sent: the config can go.
  bool is_done() const { return is_done_; }
  const std::string& last() const { return last_; }
  std::optional<boot_time> next_at() const;

 private:
  void leave();

  std::string last_;
  std::optional<push_look> waiting_;
  bool is_stale_ = true, is_looking_ = false, is_sending_ = false, is_done_ = false;
  boot_time look_at_{}, not_before_{};
  wall_time waits_since_{};
  unsigned failures_ = 0, refusals_ = 0;
};

} // namespace quell::controller::http::a2a
