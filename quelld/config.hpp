// The configuration of quelld: defaults, then the file, then QUELLD_<SECTION>_<KEY>, then flags. One table lists every
// key once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/time.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::controller {

struct config {
  // [http]
  std::string http_listen = "127.0.0.1:7710";
  std::string http_advertise_url;
  std::string http_tls_cert, http_tls_key;
  bool http_metrics_public = false;
  bool http_insecure = false;
  std::string http_cors_origins; ///< comma separated
  std::string http_push_origins; ///< the same
  std::string http_hosts;        ///< comma separated
  // [workers]
  std::string workers_listen = "127.0.0.1:7711";
  std::string workers_output_listen = "127.0.0.1:7712";
  std::string workers_advertise_host;
  milliseconds workers_heartbeat{1000};
  milliseconds workers_lease{10000};
  milliseconds workers_handover{60000};
  // [store]
  std::string store_dir;
  milliseconds store_keep_operations{30LL * 24 * 3600 * 1000}; ///< 0 = for ever
  std::uint64_t store_keep_events = 100'000;
  milliseconds store_keep_audit{365LL * 24 * 3600 * 1000}; ///< 0 = for ever
  std::uint64_t store_keep_output_bytes = 64ULL << 20;
  std::uint64_t store_reserve_bytes = 16ULL << 20;
  milliseconds store_keep_blobs{30LL * 24 * 3600 * 1000}; ///< since their last use; 0 = for ever
  // [defaults]
  std::string defaults_scope = "default"; ///< of a create that names neither scope nor parent
  milliseconds defaults_timeout{0};       ///< of a create without a timeout; 0 = none
  milliseconds defaults_grace{2000};
  std::optional<containment> defaults_min_containment;
  milliseconds defaults_tombstones{24 * 3600 * 1000};
  // [limits]
  std::uint64_t limits_operations = 2'000'000;
  std::uint64_t limits_operations_per_token = 1'000'000; ///< as the next five: 0 = no limit
  std::uint64_t limits_operations_per_author = 1'000'000;
  std::uint64_t limits_operations_per_scope = 1'000'000;
  std::uint64_t limits_turns_per_token = 20'000;
  std::uint64_t limits_turns_per_author = 2000;
  std::uint64_t limits_turns_per_scope = 20'000;
  std::uint64_t limits_slots_per_guild = 0; ///< 0 = no limit
  std::uint64_t limits_connections = 4096;
  std::uint64_t limits_bytes_per_day = 64ULL << 30; ///< of one token; as the next two: 0 = no limit
  std::uint64_t limits_bytes_per_day_per_author = 16ULL << 30;
  std::uint64_t limits_bytes_per_day_per_scope = 64ULL << 30;
  std::uint64_t limits_requests_per_second = 5000;        ///< of one token; 0 = no limit
  std::uint64_t limits_streams_per_token = 1000;          ///< 0 = no limit
  std::uint64_t limits_blob_bytes = 10ULL << 20;          ///< of one uploaded file
  std::uint64_t limits_blob_bytes_per_token = 1ULL << 30; ///< as the next two: 0 = no limit
  std::uint64_t limits_blob_bytes_per_scope = 256ULL << 20;
  std::uint64_t limits_blob_bytes_in_all = 4ULL << 30;
  // [log]
  std::string log_level = "info";
  std::string log_format = "text"; ///< or json
};

/// One key: how it is read, how its value is printed, and what it means.
struct config_key {
  std::string section, name, meaning;
  std::function<result<void>(config&, const std::string& text)> read;
  std::function<std::string(const config&)> print;
  bool quoted = true; ///< printed as a TOML string
};
const std::vector<config_key>& config_keys();

/// Reads `file` (TOML; "" = none) and the environment over the defaults. Fault `invalid_field`: names the file, the
/// key, the error, and for an unknown key the nearest known one. Skips the sections of `turns::turn_sections()` and
/// `chat::chat_sections()`.
result<config> load_config(const std::string& file, const std::map<std::string, std::string>& environment);
/// Sets one value as a flag does: `http.listen`.
result<void> set_config(config& c, const std::string& key, const std::string& text);
/// The whole configuration as TOML with a comment per key.
std::string config_text(const config& c);
/// Checks keys that depend on each other (lease against heartbeat, TLS pair, listening off loopback without TLS).
result<void> check_config(const config& c);
/// The origins in `http.cors_origins`, as a list.
std::vector<std::string> cors_origins(const config& c);
/// The origins in `http.push_origins`, each with its port.
std::vector<std::string> push_origins(const config& c);
/// The names in `http.hosts` as they are written, as a list, plus the other configured addresses at which requests
/// reach quelld.
std::vector<std::string> own_hosts(const config& c);
/// `~/.local/state/quell`; for a systemd service `/var/lib/quell`.
std::string default_state_directory(const std::map<std::string, std::string>& environment);

} // namespace quell::controller
