// Notices that a client has disconnected while the server only writes, or works on its answer.
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "gateway/awaiting.hpp"
#include "gateway/session.hpp"

namespace quell::controller::http {

/// Detects a client that disconnects while the server only writes. It waits on a duplicate of the descriptor, so that
/// it never interferes with the stream. Belongs to the thread of `io`.
struct hangup {
  hangup(io_context& io, bool has_tls) : probe(io), is_tls(has_tls), finished(io) {}
  any_socket probe;
  const bool is_tls;
  signal finished;                ///< wakes the watch at its end
  std::atomic<bool> gone = false; ///< read by other threads too
  bool made_room = false;         ///< we closed the connection
  std::shared_ptr<signal> wake;
  void tell() {
    gone = true;
    if (wake) wake->notify();
  }
  /// Ends the watch.
  void finish() {
    boost::system::error_code ignored;
    probe.close(ignored);
    wake = nullptr;
    finished.notify();
  }
};

/// True if the client has closed its side, even if it has sent bytes before that nobody has read.
inline bool has_closed_its_side(int descriptor) {
  pollfd look{descriptor, POLLRDHUP, 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/// True if these first unread bytes of a TLS connection are an alert, with which a client ends it in order. TLS 1.3
/// hides the type of a record, but not its length: 2 bytes of alert, 1 of type, 16 of tag. No request is that short.
inline bool is_tls_alert(std::string_view bytes) {
  constexpr char alert = 21, hidden = 23;
  constexpr int hidden_alert_bytes = 19;
  if (bytes.size() < 5) return false;
  const int length = static_cast<unsigned char>(bytes[3]) * 256 + static_cast<unsigned char>(bytes[4]);
  return bytes[0] == alert || (bytes[0] == hidden && length == hidden_alert_bytes);
}

/// A client that has sent more (pipelining) is still there. A wait for bytes would then return at once, so whether it
/// closes its side is looked at from time to time.
inline awaitable<> watch_beside_unread_bytes(std::shared_ptr<hangup> end) {
  constexpr std::chrono::milliseconds between_looks{200};
  while (end->probe.is_open()) {
    if (has_closed_its_side(end->probe.native_handle())) {
      end->tell();
      co_return;
    }
    co_await end->finished.wait_until(std::chrono::steady_clock::now() + between_looks);
  }
}

inline awaitable<> watch(std::shared_ptr<hangup> end) {
  boost::system::error_code error;
  while (end->probe.is_open()) {
    co_await end->probe.async_wait(boost::asio::socket_base::wait_read,
                                   boost::asio::redirect_error(boost::asio::use_awaitable, error));
    if (error || !end->probe.is_open()) co_return;
    std::array<char, 5> head{};
    const auto got = ::recv(end->probe.native_handle(), head.data(), head.size(), MSG_PEEK | MSG_DONTWAIT);
    if (got > 0 && !(end->is_tls && is_tls_alert({head.data(), static_cast<std::size_t>(got)}))) {
      co_await watch_beside_unread_bytes(std::move(end));
      co_return;
    }
    if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      end->tell();
      co_return;
    }
  }
}

/// Watches the client of this connected descriptor. Out of descriptors only writes detect a disconnect.
inline std::shared_ptr<hangup> watch_for_hangup(io_context& here, int descriptor, bool is_tls) {
  auto end = std::make_shared<hangup>(here, is_tls);
  const int duplicate = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) return end;
  boost::system::error_code error;
  // The protocol family does not matter for waiting.
  end->probe.assign(boost::asio::generic::stream_protocol(AF_UNIX, 0), duplicate, error);
  if (error)
    ::close(duplicate);
  else
    boost::asio::co_spawn(here, watch(end), boost::asio::detached);
  return end;
}

} // namespace quell::controller::http
