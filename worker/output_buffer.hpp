// Output that a task wrote on one stream and the controller has not stored yet: bounded, resent after a reconnect,
// never blocking for ever. Pure.
//
// While there is room, bytes are read and kept until they are acknowledged. When the buffer is full, reading stops and
// the task feels back-pressure, but only for `stall`; after that, further bytes are dropped and counted, and the next
// kept bytes have an offset that jumps over the gap.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/time.hpp"

namespace quell::worker {

/// The limit for the bytes that all streams of a worker hold together.
struct output_budget {
  std::size_t limit = 256 * 1024 * 1024;
  std::size_t used = 0;
};

class output_buffer {
 public:
  struct settings {
    std::size_t limit = 1024 * 1024;
    std::chrono::milliseconds stall{5000};
  };
  struct piece {
    std::uint64_t offset = 0;
    std::string_view bytes; ///< valid until the next non-const call
    bool end = false;
  };

  /// `budget` must outlive the buffer.
  output_buffer(settings s, output_budget& budget) : settings_(s), budget_(&budget) {}
  output_buffer(const output_buffer&) = delete;
  output_buffer& operator=(const output_buffer&) = delete;
  ~output_buffer() { budget_->used -= held_; }

  /// True if the pipe should be read now. False starts (or continues) a stall, which ends with acknowledgements or at
  /// `stall_ends`.
  bool wants_bytes(boot_time now);
  std::optional<boot_time> stall_ends() const;
  /// Bytes were read from the task. If it has ended, the rest of its pipe is kept even above the limit.
  enum class writer : std::uint8_t { lives, has_ended };
  void took(std::string_view bytes, writer now = writer::lives);
  /// Ends the stream. The end rides on the last bytes that wait; if none do, `announce_end` sends a mark of its own.
  void finish_quietly() { finished_ = true; }
  void announce_end() { announced_ = true; }
  /// Ends the stream, and says so at once.
  void finish() {
    finish_quietly();
    announce_end();
  }
  /// Ends the stream of a task whose result says how many bytes there were: without a hole at its end a mark would say
  /// nothing more.
  void conclude() { finished_ = concluded_ = true; }

  /// The next piece to send (at most `most` bytes), or nullopt. Call `sent` with it, then ask again.
  std::optional<piece> next(std::size_t most = 64 * 1024) const;
  void sent(const piece& p);
  /// The controller has everything below `offset`. Returns how many bytes this removed from those in flight.
  std::size_t acknowledged(std::uint64_t offset);
  /// A new session, or a silence: everything unacknowledged must be resent. Returns the number of bytes no longer in
  /// flight.
  std::size_t rewind();
  /// The controller does not know the task: drops everything.
  void forget();

  std::uint64_t total() const { return total_; }
  std::uint64_t dropped() const { return dropped_; }
  std::size_t held() const { return held_; }
  std::size_t in_flight() const { return in_flight_; }
  bool finished() const { return finished_; }
  /// True if everything including the end was sent and acknowledged.
  bool done() const {
    return finished_ && chunks_.empty() && (end_acknowledged_ || (concluded_ && total_ == kept_until_));
  }
  bool end_sent() const { return end_sent_; }

 private:
  struct chunk {
    std::uint64_t offset;
    std::string bytes;
  };
  bool wants_mark() const { return concluded_ ? total_ != kept_until_ : announced_; }
  bool full() const { return held_ >= settings_.limit || budget_->used >= budget_->limit; }

  settings settings_;
  output_budget* budget_;
  std::deque<chunk> chunks_;   ///< unacknowledged, in order
  std::size_t next_chunk_ = 0; ///< first chunk with unsent bytes
  std::size_t next_byte_ = 0;  ///< in that chunk
  std::uint64_t total_ = 0;
  std::uint64_t kept_until_ = 0; ///< the end of the last bytes that were not dropped
  std::uint64_t dropped_ = 0;
  std::size_t held_ = 0;
  std::size_t in_flight_ = 0;
  std::optional<boot_time> stalled_since_;
  bool dropping_ = false;
  bool forgotten_ = false;
  bool finished_ = false;
  bool announced_ = false;
  bool concluded_ = false;
  bool end_sent_ = false;
  bool end_acknowledged_ = false;
};

} // namespace quell::worker
