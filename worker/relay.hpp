// The relay: tasks reach the controller's HTTP at 127.0.0.1:PORT of this host; all connections are multiplexed over the
// bulk socket.
//
// A connection is relayed from its first request on, if that request comes from a task of this worker (relay_gate.hpp).
// Belongs to the bulk thread. A broken or renewed link closes every connection: the client inside the task reconnects.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "protocol/fault.hpp"
#include "protocol/messages.hpp"
#include "worker/guardian/client.hpp"
#include "worker/relay_gate.hpp"
#include "worker/relay_places.hpp"

namespace quell::worker {

class relay {
 public:
  /// That are relayed, and as many that have not sent their first request yet.
  static constexpr std::size_t most_connections = 256;
  static constexpr std::size_t window_bytes = 256 * 1024;

  /// Listens on a free port of 127.0.0.1.
  static result<std::unique_ptr<relay>> listen();

  /// Registers with `epoll`; `token(connection)` is the epoll data of a connection, 0 the listener's. `send` queues a
  /// bulk message.
  void attach(int epoll, std::function<std::uint64_t(std::uint64_t)> token,
              std::function<void(wire::bulk_message)> send);
  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  /// The link to the controller is fresh (`is_up`) or gone: all connections end, and numbering restarts at 1.
  void link(bool is_up);
  /// epoll reports events for connection `id` (0: the listener).
  void ready(std::uint64_t id, std::uint32_t events);
  void receive(const wire::relay_data& m);
  void receive(const wire::relay_credit& m);
  void receive(const wire::relay_close& m);
  std::size_t connections() const { return connections_.size(); }
  relay_gate& gate() { return gate_; }

 private:
  struct connection {
    unique_fd fd;
    std::size_t credit = window_bytes; ///< bytes that can still be sent to the controller
    bool is_admitted = false;
    std::string head;     ///< bytes received before it was admitted
    std::string outgoing; ///< from the controller, for the client
    bool reading = true;  ///< the client can still send
    bool close_when_drained = false;
    bool shut_when_drained = false;
    bool writing = true;
    std::uint32_t watched = 0;
  };
  relay(unique_fd listener, std::uint16_t port) : listener_(std::move(listener)), port_(port) {}
  void accept_all();
  void admit(std::uint64_t id, connection& c);
  void read(std::uint64_t id, connection& c);
  /// False if the connection is now closed.
  bool write(std::uint64_t id, connection& c);
  void watch(std::uint64_t id, connection& c);
  /// `announced`: the other end is sent its end.
  enum class closing : std::uint8_t { silent, announced };
  void close(std::uint64_t id, closing how);

  unique_fd listener_;
  std::uint16_t port_;
  int epoll_ = -1;
  std::function<std::uint64_t(std::uint64_t)> token_;
  std::function<void(wire::bulk_message)> send_;
  std::unordered_map<std::uint64_t, connection> connections_;
  std::set<std::uint64_t> strangers_; ///< not admitted yet, oldest first
  relay_places places_{most_connections};
  relay_gate gate_;
  std::uint64_t last_ = 0;
  bool up_ = false;
};

} // namespace quell::worker
