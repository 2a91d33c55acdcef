// libcurl's multi interface on one thread. epoll reports the ready sockets, so that the cost grows with the active
// streams and not with the open ones.
//
// A connection carries one stream at a time, also with HTTP/2: otherwise closing a stream would not close a connection.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include <curl/curl.h>

#include "protocol/fault.hpp"

namespace quell::integrations {

class transfers {
 public:
  using clock = std::chrono::steady_clock;
  static result<std::unique_ptr<transfers>> make();
  ~transfers();
  transfers(const transfers&) = delete;
  transfers& operator=(const transfers&) = delete;

  /// Any thread: the current or next `wait` returns soon.
  void wake();

  // The functions below belong to the one thread that drives the network.
  void add(CURL* easy);
  /// Ends the transfer if it is not over: its socket is closed when this returns. Not callable from libcurl's
  /// callbacks.
  void remove(CURL* easy);
  /// Lets the connection of a finished transfer be used again.
  void release(CURL* easy);
  /// Waits until a socket is ready, `wake` was called or `until` is reached, and moves all data that can be moved.
  /// `between` is called after each served socket; `done` for each transfer that has ended by itself, outside of
  /// callbacks.
  void wait(clock::time_point until, const std::function<void()>& between,
            const std::function<void(CURL*, CURLcode)>& done);

 private:
  transfers() = default;
  static int on_socket(CURL*, curl_socket_t socket, int what, void* self, void*);
  static int on_timer(CURLM*, long ms, void* self);
  void tell_done(const std::function<void(CURL*, CURLcode)>& done);

  CURLM* multi_ = nullptr;
  int epoll_ = -1;
  int wake_ = -1;
  std::optional<clock::time_point> timer_; ///< the time of libcurl's next timeout call
};

} // namespace quell::integrations
