// What libzmq tells about one client connection, turned into a state and a sentence for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <zmq.hpp>

namespace quell {

/// What is known of a connection.
struct connection_state {
  bool connected = false;
  /// Broken, and libzmq has not said that it tries again: after a refused handshake or a broken rule of the protocol it
  /// never does.
  bool abandoned = false;
  std::uint64_t connections = 0;
  bool refused = false; ///< the last handshake that came to an end was none
  std::optional<std::string> trouble;
};

/// Watches one socket from its making to its close. One thread.
class connection_monitor {
 public:
  /// `name` must be new in `context`. `address` and `own_key` go into the sentences; `before` is what an earlier socket
  /// came to.
  connection_monitor(zmq::context_t& context, zmq::socket_t& watched, const std::string& name, std::string address,
                     std::string own_key, connection_state before);

  /// Reads what has happened since.
  void update();
  int descriptor() const { return pair_.get(zmq::sockopt::fd); }
  const connection_state& state() const { return state_; }

 private:
  void take(std::uint16_t event, std::uint32_t value);

  zmq::socket_t pair_;
  std::string address_;
  std::string own_key_;
  connection_state state_;
  bool refused_ = false; ///< the last handshake was answered with a no: better news than "closed", which follows it
};

} // namespace quell
