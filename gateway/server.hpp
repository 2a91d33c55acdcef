// The gateway: the HTTP API of quelld (SURFACE 1 to 5, 7, 8, 10) on a TCP port and, for the relay, on a Unix socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/core_activity.hpp"
#include "controller/records/records.hpp"
#include "controller/row_changes.hpp"
#include "controller/service.hpp"
#include "controller/store_reader.hpp"
#include "gateway/journal_meter.hpp"
#include "integrations/chat/chat.hpp"
#include "protocol/fault.hpp"
#include "protocol/time.hpp"

namespace quell::controller::turns {
class turn_scheduler;
}

namespace quell::controller {

class blob_store;
class byte_quota;

/// A connected chat service as `GET /v1/status` shows it.
struct chat_service_view {
  std::string name, state; ///< `state` is one line for display
  bool is_working = false; ///< connected, and nothing that was configured is out of its reach
};

struct gateway_options {
  std::string listen = "127.0.0.1:7710"; ///< HOST:PORT, IPv6 in brackets; port 0 = a free one
  std::string unix_path;         ///< a second listener, used by the relay; "" = none. Replaced if it exists, 0600
  std::string state_directory;   ///< of the file with sessions of browsers, and of the sizes that metrics show
  open_limited_store open_store; ///< one more reader of the store; must not be empty
  std::shared_ptr<const row_changes> changes;    ///< as the store's writer counts them; null: no row is kept
  std::shared_ptr<const core_activity> activity; ///< as the core counts it; null: no answer of the core is kept
  std::string admin_token;                       ///< the bootstrap token in plain text; "" = none
  records::person admin_owner{"admin", "admin"};
  std::string task_token_key;                ///< HMAC key of QUELL_TOKEN; must not be empty
  std::vector<records::token_record> tokens; ///< as recovered
  std::string version = "0.1.0", commit = "unknown";
  wall_time started_at{};
  std::string tls_cert, tls_key; ///< PEM files, both or none
  bool insecure = false;         ///< allow plain HTTP off loopback
  bool metrics_public = false;
  std::vector<std::string> cors_origins; ///< web pages that may call; exact
  std::vector<std::string> push_origins; ///< at which A2A's push notifications may go to addresses that are not public
  std::vector<std::string> hosts;        ///< names by which requests may call this quelld; lower case
  // Written into the join lines of `POST /v1/workers`:
  std::vector<std::string> control_endpoints, bulk_endpoints;
  std::string server_public_key;
  /// Called about every second on the requests' thread: checks whether somebody changed the controller's key, and
  /// returns the public half of the new one. May be empty.
  std::function<std::optional<std::string>()> look_at_keys;
  scope_path default_scope;          ///< for a create without scope and parent
  milliseconds default_timeout{0};   ///< for a create without timeout_ms; 0 = none
  milliseconds worker_lease{10'000}; ///< shown for tasks without a lease of their own
  // Limits:
  double requests_per_second = 0; ///< of one token, with bursts of twice as many; 0 = no limit. Cancels always pass
  byte_quota* bytes = nullptr;    ///< for request bodies, outlives the gateway; null: no limit. Cancels always pass
  std::size_t max_connections = 4096;
  std::size_t streams_per_token = 1000; ///< event streams, output streams and long polls; 0 = no limit
  std::size_t max_header_bytes = 32 * 1024;
  std::size_t max_body_bytes = 1024 * 1024;
  std::size_t max_blob_bytes = 10 * 1024 * 1024;   ///< of a file for `POST /v1/blobs`
  milliseconds idle_timeout{60'000};               ///< between requests, and for each write
  milliseconds header_timeout{10'000};             ///< from the first byte of a request to the last of its header
  milliseconds body_timeout{30'000};               ///< for the whole body
  milliseconds comment_interval{15'000};           ///< of event streams
  std::size_t max_lag_events = 10'000;             ///< of one watcher
  unsigned readers = 2;                            ///< threads for reads of the store
  std::function<journal_meter::numbers()> journal; ///< for metrics; empty: they leave it out
  /// For metrics: gives the newest listener the events of what model calls use, those before it too, which the recovery
  /// wrote. Empty: only those that come while the gateway runs are counted.
  std::function<void(std::function<void(const records::event_record&)>)> model_use;
  /// For metrics: how often each command was given to the core, by name. Empty: they leave it out.
  std::function<std::vector<std::pair<std::string_view, std::uint64_t>>()> commands;
  std::function<std::uint64_t()> forbidden_moves; ///< for metrics: see commit_gate_edges::move_forbidden
  /// Takes a call from a chat service: false, and no answer, if no service with this name is connected. Empty: these
  /// routes do not exist.
  std::function<bool(const std::string& name, integrations::chat::web_call call,
                     std::function<void(integrations::chat::web_answer)> done)>
      chat;
  std::function<std::vector<chat_service_view>()> chat_services; ///< for the status; any thread. Empty: there are none
  std::uint64_t store_reserve_bytes = 0;                         ///< below so much free space, starts are refused
  std::function<std::string()> configuration; ///< TOML without secrets, for admins of the whole cluster; any thread
  /// Reloads the configuration: the places that changed, or why nothing did. Any thread.
  std::function<void(std::function<void(const result<std::vector<std::string>>&)>)> reload;
  /// True if this text, in a place where the bot has these names, can be a stop: then no rate limit refuses it.
  std::function<bool(const scope_path& scope, const std::string& text, const std::vector<std::string>& bot_names)>
      is_stop_word;
  blob_store* blobs = nullptr; ///< outlives the gateway; null: no files are taken
  turns::turn_scheduler* turns =
      nullptr; ///< answers messages and outlives the gateway; null: these routes do not exist
};

/// Stored events in the form that watchers get.
struct kept_events {
  struct one {
    std::uint64_t id = 0;
    wall_time at{};
    std::string json; ///< the envelope
  };
  std::vector<one> events;
  std::uint64_t looked_to = 0; ///< nothing that the filter matches is missing up to here
  bool is_whole = true;        ///< false: there can be more
  std::uint64_t lost = 0;      ///< events after `after` that are no longer kept, matching or not
};

class gateway {
 public:
  /// Binds, opens the store for reading and serves on its own threads. Faults: `address_in_use`, `bad_address`,
  /// `insecure_listen`, `bad_tls`, `bad_options`, and what `open_store` gives. `controller` and `output`
  /// must outlive the gateway; it sets `on_event`.
  static result<std::unique_ptr<gateway>> start(gateway_options options, service& controller, output_store& output);
  virtual ~gateway() = default;

  /// Base URL with the port in use, `http://127.0.0.1:7710`.
  virtual std::string url() const = 0;
  virtual std::uint16_t port() const = 0;
  /// The stored events after `filter.after`, at most `filter.limit`. Any thread; answers once, on one of the gateway's
  /// own, unless it stops first.
  virtual void read_events(records::event_filter filter, std::function<void(result<kept_events>)> done) = 0;
  /// Closes the listeners, ends event streams and long polls, waits at most 3 s for running requests, and joins. The
  /// destructor calls it, too.
  virtual void stop() = 0;
};

} // namespace quell::controller
