// The two ZeroMQ sockets behind one wall: CURVE, routing ids, wake-ups. Frames in, frames out; nothing here knows a message.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/fault.hpp"

namespace quell {

/// A CURVE key pair, Z85 text of 40 characters each. The secret half is never logged.
struct key_pair {
  std::string public_key;
  std::string secret_key;
  static key_pair generate();
  /// The pair of a secret key, or fault `bad_key`.
  static result<key_pair> from_secret(std::string_view secret_key);
};
bool is_public_key(std::string_view text);

/// One connection of a worker as the server sees it: valid until it closes; a reconnect is another one.
struct peer {
  std::string route;       ///< routing id of this connection
  std::string public_key;  ///< proven by CURVE (Z85)
  friend auto operator<=>(const peer&, const peer&) = default;
};

/// A ROUTER with CURVE and a ZAP authenticator. All methods belong to the one thread that calls `run`, except `send`, `allow` and `stop`.
class server_socket {
 public:
  struct options {
    std::string endpoint;  ///< tcp://127.0.0.1:0 = a free port
    key_pair keys;
    std::size_t max_frame_bytes = 4 * 1024 * 1024;
    int high_water_frames = 10'000;
  };
  /// Binds. Fault `address_in_use`, `bad_address` with what to do.
  static result<std::unique_ptr<server_socket>> bind(options o);
  virtual ~server_socket() = default;

  virtual std::uint16_t port() const = 0;
  /// The set of keys that may connect (thread safe). Others fail the handshake; `refused` is told once per key and minute.
  virtual void allow(std::vector<std::string> public_keys) = 0;
  /// Queues a frame and wakes the loop (thread safe). Frames of one thread keep their order. A frame for a route that is gone is dropped.
  virtual void send(std::string route, std::string frame) = 0;
  /// Runs until `stop`. `frames` gets every frame; `idle` is called after each turn of the loop.
  virtual void run(std::function<void(const peer&, std::string_view)> frames, std::function<void(std::string_view key)> refused) = 0;
  virtual void stop() = 0;
};

/// A DEALER with CURVE that reconnects by itself; each (re)creation has a fresh routing id. One thread, except where said.
class client_socket {
 public:
  struct options {
    std::vector<std::string> endpoints;  ///< tried in turn
    key_pair keys;
    std::string server_public_key;
    std::size_t max_frame_bytes = 4 * 1024 * 1024;
  };
  static result<std::unique_ptr<client_socket>> open(options o);
  virtual ~client_socket() = default;

  /// A file descriptor to poll for reading (edge triggered as ZMQ_FD is: after a wake-up, or a send, call `receive` until nullopt).
  virtual int descriptor() const = 0;
  /// The next frame, without waiting.
  virtual std::optional<std::string> receive() = 0;
  /// False when the queue to the peer is full; nothing was sent then.
  virtual bool send(std::string_view frame) = 0;
  /// Throws the connection and all queued frames away and connects anew (next endpoint, fresh routing id). Call before each hello.
  /// The descriptor changes.
  virtual void reset() = 0;
};

} // namespace quell
