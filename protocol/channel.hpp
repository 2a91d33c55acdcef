// The ordered, acknowledged channel of one direction of one session. It has no transport and no clock: time is passed
// in as a moment.
//
// Frames are numbered 1, 2, 3 … Each frame is delivered exactly once and in order, or the session ends. The
// acknowledgement means *applied*: the receiver's owner calls `applied(n)` after the frame has taken effect, and that
// number travels in its next frame. Lost frames (a reconnect below ZeroMQ) are resent after `resend_after`, or at once
// if the other side saw a gap.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "protocol/messages.hpp"
#include "protocol/time.hpp"

namespace quell {

/// The sending half. Keeps the unacknowledged frames; above `limit` of them the session must end.
class channel_sender {
 public:
  struct settings {
    std::chrono::milliseconds resend_after{1000};
    std::size_t limit = 100'000;
  };
  channel_sender() : channel_sender(settings{}) {}
  explicit channel_sender(settings s) : settings_(s) {}

  /// Gives `body` the next number and keeps it until it is acknowledged.
  std::uint64_t push(wire::message body, boot_time now);
  /// True once more than `limit` frames are unacknowledged: the peer is too far behind.
  bool overflown() const;
  /// Takes an acknowledgement (cumulative; an old one is ignored). False if it acknowledges what was never sent: end
  /// the session.
  bool acknowledged(std::uint64_t number, boot_time now);
  enum class resend_cause : std::uint8_t {
    time_passed,  ///< the peer may merely be slow
    gap_reported, ///< the peer has missed a frame
  };
  /// Frames to resend now: all unacknowledged ones, if the oldest has waited `resend_after` since it was last sent or
  /// if the peer has reported a gap.
  std::vector<std::pair<std::uint64_t, wire::message>> resend(boot_time now, resend_cause why);
  std::uint64_t last_sent() const { return last_sent_; }
  std::uint64_t last_acknowledged() const { return last_acknowledged_; }
  /// The earliest instant at which `resend` can return frames; nullopt while nothing is unacknowledged.
  std::optional<boot_time> next_resend() const;

 private:
  settings settings_;
  std::deque<wire::message> unacknowledged_;
  std::uint64_t last_sent_ = 0;
  std::uint64_t last_acknowledged_ = 0;
  boot_time last_transmission_{};
  std::optional<boot_time> answered_gap_at_; ///< for the oldest frame; repeats within resend_after / 10 are ignored
};

/// The receiving half.
class channel_receiver {
 public:
  enum class verdict : std::uint8_t { deliver, duplicate, gap };
  /// Decides about a numbered frame: deliver it now, drop it as a repeat, or drop it and ask for a resend.
  verdict accept(std::uint64_t number);
  /// The owner has applied the frame `number`.
  void applied(std::uint64_t number);
  /// The acknowledgement for the next envelope.
  std::uint64_t ack() const { return applied_; }

 private:
  std::uint64_t accepted_ = 0;
  std::uint64_t applied_ = 0;
};

} // namespace quell
