// Standard input and output as a channel of lines.
#include "cli/mcp/stdio.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace quell::cli::mcp {
namespace {

constexpr std::size_t most_unread = 4 * 1024 * 1024;

/// The number of bytes written; 0: none now; -1: never again. Other processes can share the descriptors, so their flags
/// stay as they are: a socket gets MSG_DONTWAIT, and a pipe that is ready takes PIPE_BUF bytes without blocking.
ssize_t write_without_blocking(int out, std::string_view bytes) {
  const auto sent = ::send(out, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return sent;
  if (errno == EAGAIN || errno == EINTR) return 0;
  if (errno != ENOTSOCK) return -1;
  pollfd ready{out, POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) return 0;
  const auto written = ::write(out, bytes.data(), std::min<std::size_t>(bytes.size(), 4096));
  if (written >= 0) return written;
  return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

} // namespace

stdio_channel::stdio_channel(event_loop& loop, int in, int out, std::size_t most_line_bytes, callbacks c,
                             full_output then)
    : loop_(loop), in_(in), out_(out), tell_(std::move(c)), lines_(most_line_bytes), sink_{tell_.line, tell_.too_long},
      reads_on_(then == full_output::reads_on) {
  watch_input();
}

stdio_channel::~stdio_channel() {
  loop_.unwatch(in_);
  loop_.unwatch(out_);
}

void stdio_channel::watch_input() {
  if (is_reading_ || is_over_) return;
  is_reading_ = true;
  loop_.watch(in_, ready_for::reading, [this] { read_some(); });
}

void stdio_channel::stop_reading() {
  is_over_ = true;
  loop_.unwatch(in_);
}

void stdio_channel::close() {
  if (is_over_) return;
  stop_reading();
  tell_.closed();
}

void stdio_channel::read_some() {
  std::array<char, 64 * 1024> bytes{};
  const auto n = ::read(in_, bytes.data(), bytes.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n > 0) return lines_.take({bytes.data(), static_cast<std::size_t>(n)}, sink_);
  if (n == 0) lines_.finish(sink_);
  close();
}

void stdio_channel::send(const std::string& line) {
  if (is_broken_) return;
  waiting_ += line;
  write_some();
  if (waiting_.size() - taken_ > most_unread) is_full_ = true;
  if (!is_full_ || reads_on_ || !is_reading_) return;
  is_reading_ = false;
  loop_.unwatch(in_);
}

void stdio_channel::writable() {
  write_some();
  if (!is_full_ || waiting_.size() - taken_ > most_unread / 2) return;
  is_full_ = false;
  if (waiting_.empty()) loop_.unwatch(out_);
  watch_input();
  if (tell_.drained) tell_.drained();
}

void stdio_channel::write_some() {
  while (taken_ < waiting_.size()) {
    const auto n = write_without_blocking(out_, std::string_view(waiting_).substr(taken_));
    if (n < 0) {
      is_broken_ = true;
      is_full_ = false;
      waiting_.clear();
      taken_ = 0;
      loop_.unwatch(out_);
      return close();
    }
    if (n == 0) break;
    taken_ += static_cast<std::size_t>(n);
  }
  if (taken_ * 2 >= waiting_.size()) { // not for each piece: all the rest would move each time
    waiting_.erase(0, taken_);
    taken_ = 0;
  }
  if (waiting_.empty() && !is_full_)
    loop_.unwatch(out_);
  else
    loop_.watch(out_, ready_for::writing, [this] { writable(); });
}

} // namespace quell::cli::mcp
