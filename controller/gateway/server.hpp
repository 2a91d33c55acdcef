// The gateway: the HTTP API of quelld (SURFACE 1 to 5, 7, 8, 10) on a TCP port and, for the relay, on a Unix socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/service.hpp"
#include "protocol/fault.hpp"
#include "protocol/time.hpp"
#include "storage/queries.hpp"
#include "storage/records.hpp"

namespace quell::controller::turns {
class swarm;
}

namespace quell::controller {

struct gateway_options {
  std::string listen = "127.0.0.1:7710"; ///< HOST:PORT, IPv6 in brackets; port 0 = a free one
  std::string unix_path;       ///< a second listener, used by the relay; "" = none. Replaced if it exists, 0600
  std::string state_directory; ///< where `storage::queries` reads
  std::string admin_token;     ///< the bootstrap token in plain text; "" = none
  storage::person admin_owner{"admin", "admin"};
  std::string task_token_key;                ///< HMAC key of QUELL_TOKEN; must not be empty
  std::vector<storage::token_record> tokens; ///< as recovered
  std::string version = "0.1.0", commit = "unknown";
  wall_time started_at{};
  std::string tls_cert, tls_key; ///< PEM files, both or none
  bool insecure = false;         ///< allow plain HTTP off loopback
  bool metrics_public = false;
  // What `POST /v1/workers` writes into a join line:
  std::vector<std::string> control_endpoints, bulk_endpoints;
  std::string server_public_key;
  milliseconds keep_operations{0};   ///< what ended longer ago is dropped; 0 = nothing is
  milliseconds worker_lease{10'000}; ///< shown for tasks that asked for none of their own
  // Limits:
  std::size_t max_connections = 4096;
  std::size_t max_header_bytes = 32 * 1024;
  std::size_t max_body_bytes = 1024 * 1024;
  milliseconds idle_timeout{60'000};     ///< between requests, and for each write
  milliseconds header_timeout{10'000};   ///< from the first byte of a request to the last of its header
  milliseconds body_timeout{30'000};     ///< for the whole body
  milliseconds comment_interval{15'000}; ///< of event streams
  std::size_t max_lag_events = 10'000;   ///< of one watcher
  unsigned readers = 2;                  ///< threads for reads of the store
  turns::swarm* turns = nullptr;         ///< who answers messages; outlives the gateway. None: there are no routes
};

class gateway {
 public:
  /// Binds, opens the store for reading and serves on its own thread. Faults: `address_in_use`, `bad_address`,
  /// `insecure_listen`, `bad_tls`, `bad_options`, and what `storage::queries::open` gives. `controller` and `output`
  /// must outlive the gateway; it sets `on_event`.
  static result<std::unique_ptr<gateway>> start(gateway_options options, service& controller, output_store& output);
  virtual ~gateway() = default;

  /// Base URL with the port in use, `http://127.0.0.1:7710`.
  virtual std::string url() const = 0;
  virtual std::uint16_t port() const = 0;
  /// Closes the listeners, ends event streams and long polls, waits at most 3 s for what runs, and joins. Called by the
  /// destructor too.
  virtual void stop() = 0;
};

} // namespace quell::controller
