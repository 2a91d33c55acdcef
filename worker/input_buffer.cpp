// Buffers input for a task.
#include "worker/input_buffer.hpp"

#include <algorithm>

namespace quell::worker {

namespace {
constexpr char end_of_file = 0x04; // VEOF of a new terminal
}

void input_buffer::offer(const wire::input& message) {
  if (closed_ || ended_ || message.offset > taken_) return;
  const std::uint64_t known = taken_ - message.offset;
  if (known > message.bytes.size()) return;
  std::string_view fresh = std::string_view(message.bytes).substr(static_cast<std::size_t>(known));
  const std::size_t room = limit_ - std::min(limit_, buffer_.size());
  const bool whole = fresh.size() <= room;
  fresh = fresh.substr(0, room);
  buffer_ += fresh;
  taken_ += fresh.size();
  if (!fresh.empty()) last_was_newline_ = fresh.back() == '\n';
  if (!whole || !message.end) return;
  ended_ = true;
  if (of_ == reader::pipe) return;
  // In the middle of a line the first one only delivers the line; the second one is the end.
  extra_ = last_was_newline_ ? 1 : 2;
  buffer_.append(extra_, end_of_file);
}

void input_buffer::written(std::size_t bytes) {
  bytes = std::min(bytes, buffer_.size());
  const std::size_t counted = std::min(bytes, buffer_.size() - extra_);
  extra_ -= bytes - counted;
  drained_ += counted;
  buffer_.erase(0, bytes);
}

void input_buffer::close() {
  closed_ = true;
  buffer_.clear();
  extra_ = 0;
}

} // namespace quell::worker
