// What is asked of an authorization server and what it answers, as text. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/oauth/challenge.hpp"
#include "integrations/oauth/discovery.hpp"
#include "integrations/oauth/grant.hpp"

namespace quell::integrations::oauth {

/// How quell is known at authorization servers, as the configuration says.
struct client_settings {
  std::string id, secret;   ///< registered beforehand; "" = not
  std::string metadata_url; ///< of a document about this client, that its operator publishes; "" = none
};

/// Who quell is there, if nothing need be asked: the configured client, or the document's address where that is taken.
std::optional<client> known_client(const client_settings& configured, const authorization_metadata& at);

/// The body of a registration (RFC 7591) for a redirect to this machine.
std::string registration_body(const authorization_metadata& at, const std::string& redirect_uri);
/// Fault `login_failed`: what was answered is no client.
result<client> read_registration(long status, std::string_view body);

/// The scope to ask for: what was demanded, or else all that the resource names; with what was granted before, so that
/// nothing is lost, and `offline_access` where that is what refresh tokens want.
std::string scope_to_ask(const challenge& demanded, const resource_metadata& of, const authorization_metadata& at,
                         const std::string& granted);

struct authorization_request {
  std::string redirect_uri, state, verifier, scope;
};
std::string authorization_url(const authorization_metadata& at, const client& as, const std::string& resource,
                              const authorization_request& what);

/// What the browser brought back.
struct authorization_answer {
  std::string state, code, issuer, error, error_description;
};
/// Fault `login_failed`: it is an error, or comes from another issuer (RFC 9207).
result<void> check_answer(const authorization_answer& answer, const authorization_metadata& at);

/// A request to a token endpoint: form and headers, both secret.
struct token_request {
  std::string body;
  std::vector<std::string> headers;
};
token_request code_request(const client& as, const std::string& resource, const authorization_request& what,
                           const std::string& code);
token_request refresh_request(const grant& g);

/// `old` with what was answered; a refresh token that is not given anew stays. Fault `login_failed` in words, or
/// `login_over` if the server says that the grant is not good any more.
result<grant> read_tokens(grant old, long status, std::string_view body, wall_time now);

} // namespace quell::integrations::oauth
