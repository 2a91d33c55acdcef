// libcurl's multi interface on one thread: which sockets are ready is asked of epoll, so that the cost is that of the
// streams that speak, not of all that are open.
//
// A connection carries one stream at a time, also with HTTP/2: only so does closing a stream close a connection.
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

  /// Any thread: the present or next `wait` returns soon.
  void wake();

  // All below: the one thread that drives.
  void add(CURL* easy);
  /// Ends it if it is not over: its socket is closed when this returns. Not from inside one of libcurl's callbacks.
  void remove(CURL* easy);
  /// The connection of a transfer that is over may be used again.
  void release(CURL* easy);
  /// Waits until a socket is ready, `wake` was called or `until` is here, and moves what can be moved. `between` is
  /// called after each socket that was served; `done` for each transfer that has ended by itself, outside of callbacks.
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
  std::optional<clock::time_point> timer_; ///< when libcurl wants to be called
};

} // namespace quell::integrations
