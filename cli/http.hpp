// One loop that waits for HTTP transfers, descriptors and timers at once. Single-threaded; it never polls, and every
// wait is bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/time.hpp"

namespace quell::cli {

struct http_request {
  std::string method = "GET";
  std::string url;
  std::string body;
  std::vector<std::string> headers; ///< `Name: value`
  std::string ca_file;              ///< "" = the system's
  milliseconds timeout{30'000};     ///< for the whole transfer; 0 = none (streams)
};

struct http_head {
  int status = 0;
  std::map<std::string, std::string> headers; ///< names in lower case; trailers are added when they arrive
};

struct http_end {
  http_head head;
  std::string error; ///< "" = the complete answer came; otherwise what failed, for a person
  bool sent = true;  ///< false: no connection, so the server certainly received nothing
};

/// The callbacks of one transfer; each can start or abandon transfers, but not the one that calls it.
struct http_sink {
  std::function<void(const http_head&)> head;
  /// False = not taken: the transfer pauses, and after `resume` the same bytes are delivered again.
  std::function<bool(std::string_view)> body;
  std::function<void(const http_end&)> end;
};

enum class ready_for : std::uint8_t { reading, writing };

class event_loop {
 public:
  using handle = std::uint64_t;

  event_loop();
  ~event_loop();
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;

  /// Starts a transfer; its callbacks run inside `run_until`.
  handle start(http_request request, http_sink sink);
  /// Drops a transfer without further callbacks. Unknown handles are ignored.
  void abandon(handle transfer);
  void resume(handle transfer);

  /// Calls `ready` while `descriptor` is readable (or writable), hung up or broken. One watch per descriptor.
  void watch(int descriptor, ready_for what, std::function<void()> ready);
  void unwatch(int descriptor);

  handle after(milliseconds delay, std::function<void()> action);
  void forget(handle timer);

  void run_until(const std::function<bool()>& done);

 private:
  struct implementation;
  std::unique_ptr<implementation> self_;
};

} // namespace quell::cli
