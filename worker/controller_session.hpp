// The worker's side of a session: hello, welcome, numbered frames, heartbeats, lease, and the decision to give up and
// send a new hello. Pure.
//
// One object lives as long as the worker; its sessions follow each other. Envelopes come in, envelopes go out through
// `outbox`, and the owner sends them. Messages queued between a hello and its welcome wait in the channel and are sent
// right after the welcome.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "protocol/channel.hpp"
#include "protocol/lease.hpp"
#include "protocol/messages.hpp"

namespace quell::worker {

/// The permanent binding of a worker to its cluster (stored).
struct membership {
  std::optional<cluster_id> cluster;
  std::uint64_t epoch = 0;
  std::uint64_t seq_seen = 0;
};

class controller_session {
 public:
  struct timing {
    std::chrono::milliseconds welcome_wait{3000};
    std::chrono::milliseconds first_backoff{100};
    std::chrono::milliseconds longest_backoff{2000};
    int missed_beats = 3;
    /// That a `task_started`, or the acknowledgement of a START, waits for another frame.
    std::chrono::milliseconds longest_company{5};
    /// That a `task_stopping` does of a task that is killed at once.
    std::chrono::milliseconds longest_company_of_stops{50};
  };
  enum class phase : std::uint8_t { apart, greeting, open };
  /// The reason why the worker must not continue at all.
  struct dead_end {
    std::string message;
  };

  explicit controller_session(membership m) : controller_session(std::move(m), timing{}) {}
  controller_session(membership m, timing t) : timing_(t), membership_(std::move(m)) {}

  /// True when the next hello is due: reset the socket, then call `greet`.
  bool hello_due(boot_time now) const { return phase_ == phase::apart && now >= next_hello_; }
  void greet(wire::hello hello, boot_time now);

  /// Takes a frame. Returns the message that the owner must apply before it calls `applied`. Frames of other sessions,
  /// repeats and gaps return nothing.
  std::optional<wire::message> receive(wire::envelope frame, boot_time now);
  /// The last delivered numbered frame has taken effect.
  void applied() { receiver_.applied(delivered_); }
  /// Numbers a message and queues it; dropped while apart.
  void tell(wire::message body, boot_time now);
  /// Queues an unnumbered acknowledgement if no frame has carried the latest applied number yet. The next frame that is
  /// queued takes its place.
  void acknowledge();
  /// Sends heartbeats, resends, gives up. Call at `next_tick` or more often.
  void tick(boot_time now);
  boot_time next_tick() const;
  /// Ends the session (no farewell); the next hello is due after a backoff.
  void end(std::string why, boot_time now);

  /// When what is queued must be sent at the latest; a past instant: now. Nullopt: nothing is queued. Most frames leave
  /// at once. A `task_started` that comes shortly after another message, and the acknowledgement of a START or of
  /// stored results, may wait a few milliseconds for the next frame, so that a short task costs one sending instead of
  /// three; nothing waits behind them. A `task_stopping` of a task that is killed at once waits for its end, or for any
  /// other frame.
  std::optional<boot_time> due() const;
  /// The next frame to send, with the newest acknowledgement. `sent` removes it.
  const wire::envelope* next_frame();
  void sent();

  phase at() const { return phase_; }
  const worker_lease& lease() const { return lease_; }
  const membership& member() const { return membership_; }
  const std::string& name() const { return name_; }
  const std::string& why_ended() const { return why_ended_; }
  /// The last hello was refused: another process with our key may be alive.
  bool held_by_another() const { return held_by_another_; }
  const std::optional<dead_end>& stuck() const { return stuck_; }
  session_id id() const { return id_; }
  /// True once after each change of the lease: pass it to the guardian.
  bool lease_changed() { return std::exchange(lease_changed_, false); }
  /// True when every numbered message has been acknowledged.
  bool drained() const { return sender_.last_acknowledged() == sender_.last_sent(); }

 private:
  void welcomed(const wire::welcome& w, boot_time now);
  void refused(const wire::refuse& r, boot_time now);
  /// `at` is the latest instant of its sending.
  void queue(std::uint64_t number, wire::message body, boot_time at = {});

  timing timing_;
  membership membership_;
  phase phase_ = phase::apart;
  session_id id_;
  std::string name_;
  std::string why_ended_ = "no session yet";
  bool held_by_another_ = false;
  std::optional<dead_end> stuck_;
  channel_sender sender_;
  channel_receiver receiver_;
  worker_lease lease_;
  bool lease_changed_ = false;
  std::deque<wire::envelope> outbox_;
  boot_time due_{}; ///< of the outbox, if it has a frame
  boot_time last_message_at_{};
  std::uint64_t delivered_ = 0;
  std::uint64_t ack_carried_ = 0;
  boot_time ack_by_{}; ///< when what was delivered and not acknowledged must be, at the latest
  std::uint64_t beat_ = 0;
  std::chrono::milliseconds heartbeat_{1000};
  std::chrono::milliseconds backoff_{0};
  boot_time hello_sent_{};
  boot_time next_hello_{};
  boot_time next_beat_{};
  boot_time received_{};
};

} // namespace quell::worker
