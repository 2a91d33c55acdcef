// The two ZeroMQ sockets behind one interface: CURVE, routing ids, wake-ups. Frames go in and come out; this file knows
// no messages.
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
#include "protocol/urgency.hpp"

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

/// One connection of a worker as the server sees it. `client_socket::reset` makes another route; a connection that
/// ZeroMQ itself repairs keeps it (frames on their way can be lost then; the channel resends them).
struct peer {
  std::string route;      ///< routing id of this connection
  std::string public_key; ///< proven by CURVE (Z85)
  friend auto operator<=>(const peer&, const peer&) = default;
};

/// A ROUTER with CURVE and a ZAP authenticator. All methods except `send`, `allow`, `change_keys` and `stop` belong to
/// the one thread that calls `run`.
class server_socket {
 public:
  struct options {
    std::string endpoint; ///< tcp://127.0.0.1:0 = a free port
    key_pair keys;
    std::size_t max_frame_bytes = 4 * 1024 * 1024;
    int high_water_frames = 10'000; ///< per peer and direction
    urgency io = urgency::ordinary; ///< scheduling of the I/O thread
  };
  /// Binds. Faults `address_in_use` and `bad_address` say what to do. No peer is let in before `allow` and `run`.
  static result<std::unique_ptr<server_socket>> bind(options o);
  virtual ~server_socket() = default;

  virtual std::uint16_t port() const = 0;
  /// The set of keys that may connect (thread safe). Others fail the handshake; `refused` is called once per key and
  /// minute. ZeroMQ cannot disconnect one peer, so this class cuts off a removed key itself: once this call returns, no
  /// frame of its connections is passed to `frames`, except one that is being passed at that moment. Frames to it are
  /// still sent (for example a `refuse` with the reason); the owner of the socket ends its session and stops sending.
  virtual void allow(std::vector<std::string> public_keys) = 0;
  /// Changes the server's key (thread safe, takes effect in `run`). ZeroMQ has one key for each listener and closes the
  /// connections with it: peers reconnect, and only peers that expect this key get in. `failed` is called in `run` if
  /// the address cannot be bound again within a second; binding is retried until it succeeds.
  virtual void change_keys(key_pair keys, std::function<void(const std::string& why)> failed) = 0;
  /// Queues a frame and wakes the loop (thread safe). Frames of one thread keep their order. A frame is dropped if its
  /// route is gone, or if its peer has let `high_water_frames` pile up: the channel resends it, and on the bulk socket
  /// acknowledgements and credits keep the queue below that limit.
  virtual void send(std::string route, std::string frame) = 0;
  /// Runs until `stop` (an earlier `stop` counts, too). `frames` gets every frame of an allowed key. Both callbacks run
  /// on this thread and may call `send`, `allow` and `stop`. Uses no CPU while idle.
  virtual void run(std::function<void(const peer&, std::string_view)> frames,
                   std::function<void(std::string_view key)> refused) = 0;
  /// Ends `run` (thread safe). Frames that `send` queued before this call are passed to ZeroMQ first.
  virtual void stop() = 0;
};

/// A DEALER with CURVE that reconnects by itself; each DEALER that it creates has a fresh routing id. One thread.
class client_socket {
 public:
  struct options {
    std::vector<std::string> endpoints; ///< tried in order
    key_pair keys;
    std::string server_public_key;
    std::size_t max_frame_bytes = 4 * 1024 * 1024;
    urgency io = urgency::ordinary; ///< scheduling of the I/O thread
  };
  /// Faults `bad_address`, `bad_key`. A missing listener is not a fault: the socket retries (100 ms to 2 s apart).
  static result<std::unique_ptr<client_socket>> open(options o);
  virtual ~client_socket() = default;

  /// A file descriptor to poll for reading: readable while `receive` can return a frame or the connection's state has
  /// changed. Level triggered, so poll, epoll and Asio work as usual: call `receive` until nullopt, then check
  /// `connected` and `trouble`.
  virtual int descriptor() const = 0;
  /// The next frame, without waiting.
  virtual std::optional<std::string> receive() = 0;
  /// False if nothing was sent: while not connected (the handshake included), or if the queue to the peer is full. The
  /// descriptor wakes when the connection is up, so a first frame refused here is sent on that wake-up. Nothing is ever
  /// queued for a dead peer.
  virtual bool send(std::string_view frame) = 0;
  /// Drops the connection with all queued frames and reconnects (next endpoint, fresh routing id). Call before each
  /// hello. The descriptor stays the same, but callers may ask for it again.
  virtual void reset() = 0;

  /// True while a connection is up with its handshake done, as far as `receive`, `send` and this call have seen.
  virtual bool connected() = 0;
  /// The other end refused the handshake: it does not know our key, or has a different key from the one we expect.
  virtual bool refused() = 0;
  /// Handshakes completed since `reset`: more than 1 means that the connection broke and ZeroMQ repaired it.
  virtual std::uint64_t connections() = 0;
  /// The obstacle between this worker and the controller, as a sentence for people (no listener, our key is not
  /// enrolled, a wrong controller key, connection lost); nullopt while connected and before the first attempt has
  /// failed.
  virtual std::optional<std::string> trouble() = 0;
};

} // namespace quell
