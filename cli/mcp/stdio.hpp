// Standard input and output as a channel of lines: nothing blocks the loop. Whether more is read from a client that
// does not read its answers is up to the server.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/http.hpp"
#include "cli/mcp/lines.hpp"

namespace quell::cli::mcp {

/// Whether the input is read while the channel is full.
enum class full_output : std::uint8_t { pauses_input, reads_on };

class stdio_channel {
 public:
  struct callbacks {
    std::function<void(std::string_view line)> line;
    std::function<void()> too_long;
    /// No more lines come, or nothing reads answers any more. Called once.
    std::function<void()> closed;
    /// The channel was full, and the peer has read on. May be empty. Called from the loop, not from `send`.
    std::function<void()> drained{};
  };
  stdio_channel(event_loop& loop, int in, int out, std::size_t most_line_bytes, callbacks c,
                full_output then = full_output::pauses_input);
  ~stdio_channel();
  stdio_channel(const stdio_channel&) = delete;
  stdio_channel& operator=(const stdio_channel&) = delete;

  /// `line` with its end.
  void send(const std::string& line);
  /// More than 4 MiB are unread: the peer is behind. Until it has read half of them.
  bool is_full() const { return is_full_; }
  /// Everything has been written, or cannot be.
  bool is_flushed() const { return waiting_.empty(); }
  void stop_reading();

 private:
  void read_some();
  void writable();
  void write_some();
  void watch_input();
  void close();

  event_loop& loop_;
  const int in_, out_;
  callbacks tell_;
  line_reader lines_;
  line_reader::sink sink_;
  std::string waiting_;
  std::size_t taken_ = 0; ///< of them: written already
  const bool reads_on_;
  bool is_reading_ = false, is_over_ = false, is_broken_ = false, is_full_ = false;
};

} // namespace quell::cli::mcp
