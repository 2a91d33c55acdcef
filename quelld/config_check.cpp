// Checks quelld's own settings together, and reads the lists in them.
#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "integrations/host/log.hpp"
#include "protocol/blanks.hpp"
#include "protocol/duration.hpp"
#include "quelld/config.hpp"

namespace quell::controller {

namespace {

/// An origin in the form that browsers send: scheme, host, optional port, nothing after it.
result<void> check_origin(const std::string& origin, const std::string& key = "http.cors_origins") {
  const auto host = origin.find("://");
  const auto scheme = origin.substr(0, host);
  const auto rest = host == std::string::npos ? "" : origin.substr(host + 3);
  const bool is_lower = std::none_of(origin.begin(), origin.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  if ((scheme == "http" || scheme == "https") && !rest.empty() && is_lower &&
      rest.find_first_of("/*?# \t\r\n@") == std::string::npos)
    return {};
  return failure(error_code::invalid_field,
                 key + ": '" + origin +
                     "' is not an origin; write each as browsers send it, lower case and without a path: "
                     "https://bots.example or http://localhost:3000 (* is not supported)");
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> all;
  std::istringstream text(list);
  for (std::string one; std::getline(text, one, ',');)
    if (const auto word = trimmed(one); !word.empty()) all.emplace_back(word);
  return all;
}

bool is_loopback(const std::string& listen) {
  return listen.starts_with("127.") || listen.starts_with("localhost:") || listen.starts_with("[::1]:");
}

/// `HOST:PORT`, as the sockets take it.
result<void> check_address(const std::string& key, const std::string& address) {
  const auto colon = address.rfind(':');
  const auto port = colon == std::string::npos ? std::string() : address.substr(colon + 1);
  const bool is_port = !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos &&
                       std::stoul(port) <= 65535;
  if (is_port && colon > 0 && address.find_first_of(" \t\r\n/,") == std::string::npos) return {};
  return failure(error_code::invalid_field,
                 key + ": '" + address +
                     "' is not an address; write HOST:PORT, such as 127.0.0.1:7711 (port 0: a free one)");
}

} // namespace

result<void> check_config(const config& c) {
  for (const auto& [key, address] : {std::pair{"http.listen", &c.http_listen},
                                     {"workers.listen", &c.workers_listen},
                                     {"workers.output_listen", &c.workers_output_listen}})
    if (auto sound = check_address(key, *address); !sound) return sound;
  if (c.workers_heartbeat < milliseconds{50})
    return failure(error_code::invalid_field, "workers.heartbeat must be at least 50ms");
  if (c.workers_lease < 3 * c.workers_heartbeat)
    return failure(error_code::invalid_field, "workers.lease must be at least three heartbeats (" +
                                                  duration_text(3 * c.workers_heartbeat) +
                                                  "), or one lost message would kill work");
  if (c.workers_lease > std::chrono::days{7})
    return failure(error_code::invalid_field, "workers.lease must be at most 7d");
  if (c.limits_blob_bytes == 0 || c.limits_blob_bytes > 32ULL << 20)
    return failure(error_code::invalid_field,
                   "limits.blob_bytes must be at least 1 and at most 32MiB: a file is in memory while it "
                   "is sent");
  if (auto sound = host::check_log(c.log_level, c.log_format); !sound) return sound;
  for (const auto& origin : cors_origins(c))
    if (auto sound = check_origin(origin); !sound) return sound;
  for (const auto& origin : split(c.http_push_origins))
    if (auto sound = check_origin(origin, "http.push_origins"); !sound) return sound;
  for (const auto& host : split(c.http_hosts))
    if (host.find_first_of("/:*?#@ \t\r\n") != std::string::npos)
      return failure(error_code::invalid_field,
                     "http.hosts: '" + host +
                         "' is not a host name; write names only, such as quell.example, without "
                         "scheme, port or *");
  if (c.http_tls_cert.empty() != c.http_tls_key.empty())
    return failure(error_code::invalid_field, "http.tls_cert and http.tls_key go together: set both or none");
  if (!is_loopback(c.http_listen) && c.http_tls_cert.empty() && !c.http_insecure)
    return failure(
        error_code::invalid_field,
        "http.listen " + c.http_listen +
            " is not loopback: tokens would travel in clear. Set http.tls_cert and http.tls_key, or http.insecure=true "
            "(--insecure) if a proxy in front does TLS");
  return {};
}

std::vector<std::string> cors_origins(const config& c) { return split(c.http_cors_origins); }
std::vector<std::string> push_origins(const config& c) {
  auto all = split(c.http_push_origins);
  for (auto& origin : all) {
    const auto host = origin.find("://") + 3;
    const bool has_port =
        origin.find(':', origin.find(']', host) == std::string::npos ? host : origin.find(']')) != std::string::npos;
    if (!has_port) origin += origin.starts_with("https") ? ":443" : ":80";
  }
  return all;
}

std::vector<std::string> own_hosts(const config& c) {
  auto all = split(c.http_hosts);
  all.insert(all.end(), {c.http_listen, c.http_advertise_url});
  return all;
}

} // namespace quell::controller
