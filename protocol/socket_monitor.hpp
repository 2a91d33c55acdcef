// Turns libzmq's events about one client connection into a state and a sentence for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <zmq.hpp>

namespace quell {

/// The known state of a connection.
struct connection_state {
  bool connected = false;
  /// The connection is broken, and libzmq has not announced a retry: after a refused handshake or a protocol violation
  /// it never retries.
  bool abandoned = false;
  std::uint64_t connections = 0;
  bool refused = false; ///< the last completed handshake was refused
  std::optional<std::string> trouble;
};

/// Watches one socket from its creation to its close. One thread.
class connection_monitor {
 public:
  /// `name` must be new in `context`. `address` and `own_key` go into the sentences; `before` is the final state of an
  /// earlier socket.
  connection_monitor(zmq::context_t& context, zmq::socket_t& watched, const std::string& name, std::string address,
                     std::string own_key, connection_state before);

  /// Reads the events since the last call.
  void update();
  int descriptor() const { return pair_.get(zmq::sockopt::fd); }
  const connection_state& state() const { return state_; }

 private:
  void take(std::uint16_t event, std::uint32_t value);

  zmq::socket_t pair_;
  std::string address_;
  std::string own_key_;
  connection_state state_;
  bool refused_ = false; ///< the last handshake was refused: more informative than "closed", which follows it
};

} // namespace quell
