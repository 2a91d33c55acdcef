// Discovery of the login: the metadata of a protected resource (RFC 9728) and of its authorization server (RFC 8414,
// OpenID Connect Discovery). Pure: which addresses to request, and what their answers mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "integrations/models/json.hpp"
#include "protocol/fault.hpp"

namespace quell::integrations::oauth {

/// The parts of an http(s) URL without credentials and fragment; `path` is empty or begins with /.
struct web_address {
  std::string origin; ///< scheme, lower-case host, and the port unless it is the scheme's default
  std::string path;
  std::string query; ///< including its `?`
  bool is_secure = false;
  bool is_loopback = false;
};
/// Fault `login_failed`: not an http(s) URL.
result<web_address> read_address(const std::string& url);

/// Whether tokens may be sent to `url` for a server at `base`: https, or loopback if the server is on loopback too.
bool may_trust(const std::string& url, const web_address& base);

/// The addresses at which a server's metadata can be, the most specific first.
std::vector<std::string> resource_metadata_urls(const web_address& server);
std::vector<std::string> authorization_metadata_urls(const web_address& issuer);

struct resource_metadata {
  std::string resource; ///< as published; goes along with every request for a token
  std::string issuer;   ///< URL of the authorization server
  std::vector<std::string> scopes;
};
/// Fault `login_failed`: the document is about another server, or names no authorization server that can be trusted.
result<resource_metadata> read_resource_metadata(const json& document, const web_address& server);

struct authorization_metadata {
  std::string issuer, authorization_endpoint, token_endpoint, registration_endpoint;
  std::vector<std::string> scopes;
  std::vector<std::string> token_auth_methods; ///< empty = `client_secret_basic`
  bool takes_metadata_documents = false;       ///< accepts a URL as client id
  bool says_issuer = false;                    ///< its answers carry `iss` (RFC 9207)
  bool gives_refresh_tokens = true;
};
/// Fault `login_failed`: the document is another issuer's, lacks PKCE with S256, or names endpoints that cannot be
/// trusted.
result<authorization_metadata> read_authorization_metadata(const json& document, const std::string& issuer,
                                                           const web_address& server);

} // namespace quell::integrations::oauth
