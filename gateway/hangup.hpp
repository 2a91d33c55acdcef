// Notices that a client has disconnected while the server only writes, or works on its answer.
#pragma once

#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

#include <fcntl.h>
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
  explicit hangup(io_context& io) : probe(io) {}
  any_socket probe;
  std::atomic<bool> gone = false; ///< read by other threads too
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
  }
};

/// A client that sends more (pipelining) is still there: then only the writes can detect a disconnect.
inline awaitable<> watch(std::shared_ptr<hangup> end) {
  boost::system::error_code error;
  while (end->probe.is_open()) {
    co_await end->probe.async_wait(boost::asio::socket_base::wait_read,
                                   boost::asio::redirect_error(boost::asio::use_awaitable, error));
    if (error || !end->probe.is_open()) co_return;
    char byte = 0;
    const auto got = ::recv(end->probe.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) co_return;
    if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      end->tell();
      co_return;
    }
  }
}

/// Watches the client of this connected descriptor. Out of descriptors only writes detect a disconnect.
inline std::shared_ptr<hangup> watch_for_hangup(io_context& here, int descriptor) {
  auto end = std::make_shared<hangup>(here);
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
