// Sends bytes of a file to a client: over a plain connection without copying them, in the frame of one chunk. For
// output.cpp and the writers of streams.
#pragma once

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controller/output_reader.hpp"
#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// One chunk of an answer whose bytes are in a file. On any one thread at a time.
class file_chunk {
 public:
  enum class progress : std::uint8_t {
    sent,    ///< all of it
    blocked, ///< the client has not read enough yet
    failed   ///< the client has gone, or the file is shorter than it was said to be
  };
  /// `socket`: a descriptor that does not block, and that nobody else writes to meanwhile. `before` and `after` frame
  /// the bytes.
  file_chunk(std::shared_ptr<const int> socket, file_range bytes, std::string before, std::string after)
      : socket_(std::move(socket)), bytes_(std::move(bytes)), before_(std::move(before)), after_(std::move(after)) {}

  /// Sends as much as the connection takes. May wait for the disk. SIGPIPE must be ignored or blocked.
  progress send() {
    const std::uint64_t file_from = before_.size();
    const std::uint64_t text_from = file_from + bytes_.length;
    while (sent_ < text_from + after_.size()) {
      step did = step::on;
      if (sent_ < file_from)
        did = send_text(before_, sent_, MSG_MORE);
      else if (sent_ < text_from)
        did = send_file(sent_ - file_from);
      else
        did = send_text(after_, sent_ - text_from, 0);
      if (did != step::on) return did == step::blocked ? progress::blocked : progress::failed;
    }
    return progress::sent;
  }
  /// Bytes sent so far, with the frame.
  std::uint64_t sent() const { return sent_; }

 private:
  enum class step : std::uint8_t { on, blocked, failed };

  static step step_after_error() {
    if (errno == EINTR) return step::on;
    return errno == EAGAIN || errno == EWOULDBLOCK ? step::blocked : step::failed;
  }
  step send_text(const std::string& text, std::uint64_t from, int flags) {
    const auto n = ::send(*socket_, text.data() + from, text.size() - from, flags | MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) return step_after_error();
    sent_ += static_cast<std::uint64_t>(n);
    return step::on;
  }
  step send_file(std::uint64_t done) {
    auto at = static_cast<off_t>(bytes_.from + done);
    const auto n = ::sendfile(*socket_, *bytes_.descriptor, &at, bytes_.length - done);
    if (n < 0) return step_after_error();
    if (n == 0) return step::failed; // the end of the file
    sent_ += static_cast<std::uint64_t>(n);
    return step::on;
  }

  std::shared_ptr<const int> socket_;
  file_range bytes_;
  std::string before_, after_;
  std::uint64_t sent_ = 0;
};

/// A duplicate of a connection's descriptor, which lives on when the connection is closed; null if there is none left,
/// or if writing to it would block.
inline std::shared_ptr<const int> duplicate_for_files(int socket) {
  const int flags = ::fcntl(socket, F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) == 0) return nullptr;
  const int fd = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return nullptr;
  return {new int(fd), [](const int* held) {
            ::close(*held);
            delete held;
          }};
}

/// All bytes of the range, or fewer if the file is shorter.
inline std::string read_range(const file_range& bytes) {
  std::string all(bytes.length, '\0');
  std::size_t got = 0;
  while (got < all.size()) {
    const auto n = ::pread(*bytes.descriptor, all.data() + got, all.size() - got, static_cast<off_t>(bytes.from + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  all.resize(got);
  return all;
}

/// For a client that bytes reach by a copy only. False if it has gone, or if the file is shorter than it was said to
/// be.
inline awaitable<bool> write_by_copy(stream_writer& to, thread_context& here, file_range bytes) {
  constexpr std::uint64_t most_at_once = 256 * 1024;
  while (bytes.length > 0) {
    auto part = bytes;
    part.length = std::min(bytes.length, most_at_once);
    bytes.from += part.length;
    bytes.length -= part.length;
    const std::function<result<std::string>(store_reader&)> read = [part](store_reader&) { return read_range(part); };
    auto text = co_await here.read<std::string>(read);
    const bool whole = text.size() == part.length;
    const bool alive = co_await to.write(std::move(text));
    if (!alive || !whole) co_return false;
  }
  co_return true;
}

} // namespace quell::controller::http
