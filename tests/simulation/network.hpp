// The network between the controller and its workers, as ZeroMQ over TCP shows it: connections with routes, ordered and
// lossless while they last; a break loses the frames in flight; a connection that ZeroMQ re-establishes keeps its
// route.
//
// Frames that an abandoned connection still had in flight can arrive late, beside the frames of its successor. A
// hostile link exceeds TCP's faults: it drops, duplicates and reorders single frames.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/events.hpp"
#include "tests/simulation/random.hpp"

namespace quell::simulation {

struct world;

enum class heading : std::uint8_t { up, down }; ///< to the controller, to the worker

class network {
 public:
  explicit network(world& w);

  // ---- a worker's end: one socket at a time
  /// Drops the worker's connection and opens a new one with a fresh route.
  void reset(std::size_t worker);
  /// The worker's process has ended.
  void close(std::size_t worker);
  bool connected(std::size_t worker) const;
  /// Handshakes since `reset`.
  std::uint64_t connections(std::size_t worker) const;
  bool send_up(std::size_t worker, std::string bytes);

  // ---- the controller's end
  void listen();
  void controller_died(bool orderly);
  void send_down(const std::string& route, std::string bytes);

  // ---- trouble
  void break_link(std::size_t worker);
  void block(std::size_t worker, heading which, bool is);
  /// No faults occur from now on.
  void heal();

 private:
  struct connection {
    std::string route;
    std::size_t worker = 0;
    bool stands = false;       ///< handshake done, not broken
    bool thrown_away = false;  ///< by the worker
    bool late_arrives = false; ///< what was on its way then still arrives
    std::uint64_t handshakes = 0;
    std::uint64_t breaks[2] = {0, 0};
    instant last[2] = {0, 0}; ///< when the newest frame of a direction arrives
  };
  struct packet {
    std::shared_ptr<connection> on;
    std::uint64_t breaks = 0;
    std::string bytes;
    bool is_late = false;
  };
  struct link {
    std::shared_ptr<connection> current;
    bool blocked[2] = {false, false};
    std::uint64_t blocks = 0;
    std::deque<packet> held[2]; ///< what waits for the end of a partition
    instant base_delay = 0;
  };

  void connect(const std::shared_ptr<connection>& c, instant wait);
  void break_connection(connection& c);
  void post(const std::shared_ptr<connection>& c, heading which, std::string bytes);
  void travel(packet p, heading which, bool in_order);
  void arrive(packet p, heading which);

  world& world_;
  random_stream random_;
  std::vector<link> links_;
  std::map<std::string, std::shared_ptr<connection>> by_route_;
  std::uint64_t routes_ = 0;
  bool listening_ = false, hostile_ = false, jitter_ = false;
};

} // namespace quell::simulation
