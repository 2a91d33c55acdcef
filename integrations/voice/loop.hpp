// The thread of the voice exchange: connections that carry frames, what accepts them, and timers. Asio stays behind it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "integrations/voice/wire.hpp"

namespace quell::integrations::voice {

/// One connection. On the loop's thread; it lives as long as somebody holds it or it is open.
class frame_link {
 public:
  struct hooks {
    std::function<void(const frame&)> said;
    std::function<void(const fault&)> broken; ///< it broke the rules: nothing more is read
    std::function<void()> gone;               ///< once, unless we closed it
  };
  virtual ~frame_link() = default;
  /// From now on it is read.
  virtual void begin(hooks h) = 0;
  /// In order. A far side that leaves 4 MiB unread is cut off.
  virtual void send(const frame& f) = 0;
  /// What was sent leaves first, for at most a second; nothing more is heard.
  virtual void close() = 0;
  virtual bool is_loopback() const = 0;
};

struct listening_place {
  std::string address; ///< HOST:PORT (IPv6 in brackets; port 0 = a free one), or unix:PATH (mode 0600)
  direction reads = direction::client_to_gateway;
  std::string tls_cert, tls_key; ///< PEM files; "" = no TLS. Not for Unix sockets
  std::size_t most = 64;         ///< connections at once; more are closed unread
};

class voice_loop {
 public:
  static std::unique_ptr<voice_loop> start();
  virtual ~voice_loop() = default;
  /// Before or after `start`; `came` is called on the loop's thread, and begins the link. Answers the port in use (0
  /// for a Unix socket). Faults: `bad_address`, `address_in_use`, `bad_tls`.
  virtual result<std::uint16_t> listen(const listening_place& at,
                                       std::function<void(std::shared_ptr<frame_link>)> came) = 0;
  /// Any thread. Nothing runs after `stop`.
  virtual void post(std::function<void()> what) = 0;
  virtual void after(std::chrono::milliseconds wait, std::function<void()> what) = 0;
  /// Closes everything and joins. Twice does no harm.
  virtual void stop() = 0;
};

} // namespace quell::integrations::voice
