// Standard input and output as a channel of lines: nothing blocks the loop, and the server does not read from a client
// that does not read its answers.
#pragma once

#include <functional>
#include <string>

#include "cli/http.hpp"
#include "cli/mcp/lines.hpp"

namespace quell::cli::mcp {

class stdio_channel {
 public:
  struct callbacks {
    std::function<void(std::string_view line)> line;
    std::function<void()> too_long;
    /// No more lines come, or nothing reads answers any more. Called once.
    std::function<void()> closed;
  };
  stdio_channel(event_loop& loop, int in, int out, std::size_t most_line_bytes, callbacks c);
  ~stdio_channel();
  stdio_channel(const stdio_channel&) = delete;
  stdio_channel& operator=(const stdio_channel&) = delete;

  /// `line` with its end.
  void send(const std::string& line);
  /// Everything has been written, or cannot be.
  bool is_flushed() const { return waiting_.empty(); }
  void stop_reading();

 private:
  void read_some();
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
  bool is_reading_ = false, is_over_ = false, is_broken_ = false;
};

} // namespace quell::cli::mcp
