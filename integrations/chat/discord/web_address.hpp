// The parts of a websocket's address. Pure.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace quell::integrations::chat::discord {

struct web_address {
  bool tls = true;
  std::string host, port, target; ///< `target` with path and query
};

/// `ws://host[:port]/path?query` or `wss://…`, IPv6 in brackets; nullopt for anything else.
inline std::optional<web_address> websocket_address(std::string_view url) {
  web_address a;
  if (url.starts_with("wss://")) {
    url.remove_prefix(6);
  } else if (url.starts_with("ws://")) {
    url.remove_prefix(5);
    a.tls = false;
  } else {
    return std::nullopt;
  }
  const auto path = std::min(url.find_first_of("/?"), url.size());
  auto place = url.substr(0, path);
  a.target = std::string(url.substr(path));
  if (!a.target.starts_with('/')) a.target.insert(0, "/");
  a.port = a.tls ? "443" : "80";
  const auto bracket = place.rfind(']');
  if (const auto colon = place.rfind(':');
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    a.port = std::string(place.substr(colon + 1));
    place = place.substr(0, colon);
  }
  if (place.starts_with('[') && place.ends_with(']')) place = place.substr(1, place.size() - 2);
  a.host = std::string(place);
  for (const char c : a.host + a.port + a.target)
    if (static_cast<unsigned char>(c) <= ' ' || c == '@' || c == '\x7f') return std::nullopt;
  if (a.host.empty() || a.port.empty() || a.port.size() > 5 ||
      a.port.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return a;
}

} // namespace quell::integrations::chat::discord
