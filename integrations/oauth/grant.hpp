// The result of a login, kept by the owner of the account as JSON that contains secrets. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/time.hpp"

namespace quell::integrations::oauth {

/// How a client authenticates at the token endpoint.
enum class client_auth : std::uint8_t { none, basic, post };

struct client {
  std::string id, secret;
  client_auth how = client_auth::none;
  friend bool operator==(const client&, const client&) = default;
};

struct grant {
  std::string server; ///< URL of the MCP server; tokens are never sent to another
  std::string issuer, token_endpoint, resource;
  client as;
  std::string access_token, refresh_token; ///< refresh_token: "" = none was given
  std::string scope;                       ///< "" = not given
  std::optional<wall_time> expires_at;     ///< nullopt = not given
  friend bool operator==(const grant&, const grant&) = default;
};

std::string grant_text(const grant& g);
/// nullopt: the text is not a grant.
std::optional<grant> read_grant(std::string_view text);

} // namespace quell::integrations::oauth
