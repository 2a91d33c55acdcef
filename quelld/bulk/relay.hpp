// The controller's end of relayed HTTP: connections that tasks made to their worker's relay are carried over the bulk
// socket and end in the gateway's own Unix-domain listener. Runs on its own thread; frames of different connections do
// not wait for each other.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "protocol/messages.hpp"

namespace quell::controller {

class relay {
 public:
  /// Sends a bulk message to a connected worker (thread-safe).
  using sender = std::function<void(const std::string& route, const wire::bulk_message&)>;

  relay(std::string gateway_socket, sender send);
  ~relay();

  /// Takes a relay_* message from a worker's bulk connection (any thread). A worker that sends far more than its
  /// windows allow loses all its relayed connections.
  void take(const std::string& route, wire::bulk_message message);
  /// The worker's bulk connection is gone: closes all its relayed connections.
  void drop_route(const std::string& route);

  /// Runs a job of the bulk socket that can wait for a disk on the relay's thread, in order with the others.
  void post(std::function<void()> job);

  static constexpr std::size_t window_bytes = 256 * 1024;
  static constexpr std::size_t most_connections_per_worker = 256;
  static constexpr std::size_t most_waiting_per_worker = 65536;          ///< messages
  static constexpr std::size_t most_waiting_bytes_per_worker = 96 << 20; ///< more than all its windows together

 private:
  using key = std::pair<std::string, std::uint64_t>;
  struct connection {
    int fd = -1;
    std::string outgoing;                ///< to the gateway
    std::uint64_t credit = window_bytes; ///< bytes that can still go to the worker
    std::uint64_t consumed = 0;          ///< since the last relay_credit
    bool worker_done = false;            ///< no more bytes from the worker
    bool gateway_done = false;
  };

  void run();
  void handle(const std::string& route, const wire::bulk_message& message);
  void open(const key& k);
  /// `announced`: the other end is sent its end.
  enum class closing : std::uint8_t { silent, announced };
  void close(const key& k, closing how);
  void flush(const key& k, connection& c);
  void pump(const key& k, connection& c);

  std::string gateway_socket_;
  sender send_;
  std::map<key, connection> connections_;
  std::map<std::string, std::size_t> per_route_;
  std::mutex mutex_;
  struct waiting {
    std::size_t messages = 0, bytes = 0;
    bool is_over = false;
  };
  std::deque<std::pair<std::string, wire::bulk_message>> inbox_;
  std::map<std::string, waiting> waiting_; ///< in `inbox_`, by route
  std::deque<std::string> dropped_;
  std::deque<std::function<void()>> jobs_;
  int wake_ = -1;
  bool stopping_ = false;
  std::thread thread_;
};

} // namespace quell::controller
