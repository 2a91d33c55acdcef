// Input for a task's stdin that the controller has sent and the task has not read yet. Bounded; repeats are skipped,
// gaps refused. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/messages.hpp"

namespace quell::worker {

class input_buffer {
 public:
  /// A terminal reads the end of the input as a character.
  enum class reader : std::uint8_t { pipe, terminal };
  explicit input_buffer(reader of, std::size_t limit = 256 * 1024) : of_(of), limit_(limit) {}

  /// Takes the part of the message that is new and fits. The sender must repeat the rest from `taken()`.
  void offer(const wire::input& message);
  /// Bytes that can be written to the task now.
  std::string_view waiting() const { return buffer_; }
  void written(std::size_t bytes);
  /// The task no longer reads.
  void close();

  /// The offset to acknowledge: everything below it was passed to the task.
  std::uint64_t drained() const { return drained_; }
  std::uint64_t taken() const { return taken_; }
  bool closed() const { return closed_; }
  /// The sender ended the input and everything is written: close the pipe (a PTY got its end-of-file characters
  /// instead).
  bool at_end() const { return ended_ && buffer_.empty(); }

 private:
  reader of_;
  std::size_t limit_;
  std::string buffer_;
  std::size_t extra_ = 0; ///< end-of-file characters at the buffer's end, not counted by offsets
  std::uint64_t taken_ = 0;
  std::uint64_t drained_ = 0;
  bool last_was_newline_ = true;
  bool ended_ = false;
  bool closed_ = false;
};

} // namespace quell::worker
