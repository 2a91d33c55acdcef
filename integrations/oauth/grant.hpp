// What a login has given: kept by whoever holds the account, as JSON with secrets in it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/time.hpp"

namespace quell::integrations::oauth {

/// How a client shows the token endpoint who it is.
enum class client_auth : std::uint8_t { none, basic, post };

struct client {
  std::string id, secret;
  client_auth how = client_auth::none;
  friend bool operator==(const client&, const client&) = default;
};

struct grant {
  std::string server; ///< URL of the MCP server: tokens go nowhere else
  std::string issuer, token_endpoint, resource;
  client as;
  std::string access_token, refresh_token; ///< the latter "" = none was given
  std::string scope;                       ///< "" = not said
  std::optional<wall_time> expires_at;     ///< nullopt = not said
  friend bool operator==(const grant&, const grant&) = default;
};

std::string grant_text(const grant& g);
/// nullopt: no such text.
std::optional<grant> read_grant(std::string_view text);

} // namespace quell::integrations::oauth
