// Where one logs in: the metadata of a protected resource (RFC 9728) and of its authorization server (RFC 8414, OpenID
// Connect Discovery). Pure: which addresses to ask, and what their answers mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "integrations/models/json.hpp"
#include "protocol/fault.hpp"

namespace quell::integrations::oauth {

/// The parts of an http(s) URL without credentials and fragment; `path` begins with / or is empty.
struct web_address {
  std::string origin; ///< scheme, host in lower case, port unless it is the scheme's own
  std::string path;
  std::string query; ///< with its `?`
  bool is_secure = false;
  bool is_loopback = false;
};
/// Fault `login_failed`: no such URL.
result<web_address> read_address(const std::string& url);

/// Whether tokens may go there, for a server at `base`: https, or loopback if the server itself is there.
bool may_trust(const std::string& url, const web_address& base);

/// Where the metadata of a server may be, the more precise first.
std::vector<std::string> resource_metadata_urls(const web_address& server);
std::vector<std::string> authorization_metadata_urls(const web_address& issuer);

struct resource_metadata {
  std::string resource; ///< as published; goes along with every request for a token
  std::string issuer;   ///< the authorization server
  std::vector<std::string> scopes;
};
/// Fault `login_failed`: it is about another server, or names no authorization server that can be trusted.
result<resource_metadata> read_resource_metadata(const json& document, const web_address& server);

struct authorization_metadata {
  std::string issuer, authorization_endpoint, token_endpoint, registration_endpoint;
  std::vector<std::string> scopes;
  std::vector<std::string> token_auth_methods; ///< empty = `client_secret_basic`
  bool takes_metadata_documents = false;       ///< a URL as client id
  bool says_issuer = false;                    ///< its answers carry `iss` (RFC 9207)
  bool gives_refresh_tokens = true;
};
/// Fault `login_failed`: it is another issuer's, cannot do PKCE with S256, or its endpoints cannot be trusted.
result<authorization_metadata> read_authorization_metadata(const json& document, const std::string& issuer,
                                                           const web_address& server);

} // namespace quell::integrations::oauth
