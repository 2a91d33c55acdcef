// The thread of the voice exchange: frame connections, listeners and timers. Hides Asio.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "integrations/voice/wire.hpp"

namespace quell::integrations::voice {

/// One connection, used on the loop's thread. It lives while it is open or someone holds it.
class frame_link {
 public:
  struct hooks {
    std::function<void(const frame&)> on_frame;
    std::function<void(const fault&)> broken; ///< the far side violated the protocol: nothing more is read
    std::function<void()> gone; ///< called once, unless we closed the connection: the far side sends nothing more
  };
  virtual ~frame_link() = default;
  /// Starts reading.
  virtual void begin(hooks h) = 0;
  /// Sends in order, behind `gone` too: a far side that has closed its half can still read, so `gone` is followed by
  /// `close`. A peer that leaves 4 MiB unread is disconnected.
  virtual void send(const frame& f) = 0;
  /// Sends what is queued first, for at most one second; receives nothing more.
  virtual void close() = 0;
  /// Nothing that is sent arrives any more: the far side has reset the connection, or a write has failed. A far side
  /// that has closed only its half can still read.
  virtual bool is_lost() const = 0;
  virtual bool is_loopback() const = 0;
};

struct listening_place {
  std::string address; ///< HOST:PORT (IPv6 in brackets; port 0 = a free one), or unix:PATH (mode 0600)
  direction reads = direction::client_to_gateway;
  std::string tls_cert, tls_key;                  ///< PEM files; "" = no TLS. Not used for Unix sockets
  std::size_t most = 64;                          ///< connections at once; further ones are closed unread
  std::function<void(const std::string&)> warn{}; ///< gets a sentence for the log; can be empty
};

class voice_loop {
 public:
  static std::unique_ptr<voice_loop> start();
  virtual ~voice_loop() = default;
  /// Callable before or after `start`. `came` runs on the loop's thread and must begin the link. Returns the port in
  /// use (0 for a Unix socket). Faults: `bad_address`, `address_in_use`, `bad_tls`.
  virtual result<std::uint16_t> listen(const listening_place& at,
                                       std::function<void(std::shared_ptr<frame_link>)> came) = 0;
  /// Any thread. Nothing runs after `stop`.
  virtual void post(std::function<void()> what) = 0;
  virtual void after(std::chrono::milliseconds wait, std::function<void()> what) = 0;
  /// Runs `farewell` on its thread, if there is one, and waits, at most a second, until no connection is left. Then
  /// closes everything and joins the thread. Idempotent.
  virtual void stop(std::function<void()> farewell) = 0;
};

} // namespace quell::integrations::voice
