// The two ZeroMQ sockets behind one wall: CURVE, routing ids, wake-ups. Frames in, frames out; nothing here knows a
// message.
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

/// One connection of a worker as the server sees it. A `client_socket::reset` makes another route; a connection that
/// ZeroMQ itself mends below keeps it (frames on their way may be lost then, which the channel repairs).
struct peer {
  std::string route;      ///< routing id of this connection
  std::string public_key; ///< proven by CURVE (Z85)
  friend auto operator<=>(const peer&, const peer&) = default;
};

/// A ROUTER with CURVE and a ZAP authenticator. All methods belong to the one thread that calls `run`, except `send`,
/// `allow` and `stop`.
class server_socket {
 public:
  struct options {
    std::string endpoint; ///< tcp://127.0.0.1:0 = a free port
    key_pair keys;
    std::size_t max_frame_bytes = 4 * 1024 * 1024;
    int high_water_frames = 10'000; ///< per peer and direction
    urgency io = urgency::ordinary; ///< of the I/O thread
  };
  /// Binds. Fault `address_in_use`, `bad_address` with what to do. Nobody is let in before `allow` and `run`.
  static result<std::unique_ptr<server_socket>> bind(options o);
  virtual ~server_socket() = default;

  virtual std::uint16_t port() const = 0;
  /// The set of keys that may connect (thread safe). Others fail the handshake; `refused` is told once per key and
  /// minute. ZeroMQ cannot disconnect one peer, so a key that is taken out of the set is cut off here: from the return
  /// of this call no frame of its connections is handed to `frames` any more, except one that is being handed over
  /// right now. What is sent to it still leaves (a `refuse` that says why may follow); the owner of the socket ends its
  /// session and stops sending.
  virtual void allow(std::vector<std::string> public_keys) = 0;
  /// Has another key from now on (thread safe, takes effect in `run`). ZeroMQ has one key for each listener and ends
  /// the connections with it: peers connect anew, and only who expects this key gets in. `failed` is called in `run` if
  /// the address could not be bound again within a second; it is tried again until it can.
  virtual void change_keys(key_pair keys, std::function<void(const std::string& why)> failed) = 0;
  /// Queues a frame and wakes the loop (thread safe). Frames of one thread keep their order. A frame for a route that
  /// is gone is dropped, and so is one for a peer that has let `high_water_frames` pile up: the channel sends it again,
  /// and on the bulk socket acknowledgements and credits keep the queue below that.
  virtual void send(std::string route, std::string frame) = 0;
  /// Runs until `stop` (a `stop` before it counts). `frames` gets every frame of an allowed key. Both are called on
  /// this thread and may call `send`, `allow` and `stop`. Costs no CPU while nothing happens.
  virtual void run(std::function<void(const peer&, std::string_view)> frames,
                   std::function<void(std::string_view key)> refused) = 0;
  /// Ends `run` (thread safe). Frames queued by `send` before this call are handed to ZeroMQ first.
  virtual void stop() = 0;
};

/// A DEALER with CURVE that reconnects by itself; each (re)creation has a fresh routing id. One thread.
class client_socket {
 public:
  struct options {
    std::vector<std::string> endpoints; ///< tried in turn
    key_pair keys;
    std::string server_public_key;
    std::size_t max_frame_bytes = 4 * 1024 * 1024;
    urgency io = urgency::ordinary; ///< of the I/O thread
  };
  /// Faults `bad_address`, `bad_key`. Nobody listening is no fault: it goes on trying (100 ms to 2 s apart).
  static result<std::unique_ptr<client_socket>> open(options o);
  virtual ~client_socket() = default;

  /// A file descriptor to poll for reading: readable while `receive` may have something to give or the connection's
  /// state changed. Level triggered, so poll, epoll and Asio work as usual: call `receive` until nullopt, then look at
  /// `connected` and `trouble`.
  virtual int descriptor() const = 0;
  /// The next frame, without waiting.
  virtual std::optional<std::string> receive() = 0;
  /// False while not connected (the handshake included) and when the queue to the peer is full; nothing was sent then.
  /// The descriptor wakes when the connection stands, so a first frame refused here is sent on that wake-up. Nothing is
  /// ever queued for a dead peer.
  virtual bool send(std::string_view frame) = 0;
  /// Throws the connection and all queued frames away and connects anew (next endpoint, fresh routing id). Call before
  /// each hello. The descriptor stays the same. (Callers that ask for it again are right too.)
  virtual void reset() = 0;

  /// True while a connection stands with its handshake done, as far as `receive`, `send` and this have seen.
  virtual bool connected() { return true; }
  /// The other end said no: it does not know our key, or has another one than we expect.
  virtual bool refused() { return false; }
  /// Handshakes completed since `reset`: more than 1 says that the connection broke and was mended below.
  virtual std::uint64_t connections() { return 0; }
  /// What stands between us and the controller, as a sentence for people (nobody listens, our key is not enrolled, a
  /// wrong controller key, connection lost); nullopt while connected and before the first attempt has failed.
  virtual std::optional<std::string> trouble() { return std::nullopt; }
};

} // namespace quell
