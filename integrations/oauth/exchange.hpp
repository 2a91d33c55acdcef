// Requests to an authorization server and its answers, as text. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/oauth/challenge.hpp"
#include "integrations/oauth/discovery.hpp"
#include "integrations/oauth/grant.hpp"

namespace quell::integrations::oauth {

/// quell's identity at authorization servers, from the configuration.
struct client_settings {
  std::string id, secret;   ///< registered beforehand; "" = not registered
  std::string metadata_url; ///< of a document about this client that its operator publishes; "" = none
};

/// The client, if no registration is needed: the configured one, or the metadata document's URL if the server accepts
/// it.
std::optional<client> known_client(const client_settings& configured, const authorization_metadata& at);

/// The body of a registration request (RFC 7591) with a redirect to this machine.
std::string registration_body(const authorization_metadata& at, const std::string& redirect_uri);
/// Fault `login_failed`: the answer does not describe a client.
result<client> read_registration(long status, std::string_view body);

/// The scope to request: the demanded one, or else all that the resource names; plus what was granted before, so that
/// nothing is lost, and `offline_access` if the server issues refresh tokens only with it.
std::string scope_to_ask(const challenge& demanded, const resource_metadata& of, const authorization_metadata& at,
                         const std::string& granted);

struct authorization_request {
  std::string redirect_uri, state, verifier, scope;
};
std::string authorization_url(const authorization_metadata& at, const client& as, const std::string& resource,
                              const authorization_request& what);

/// The parameters of the browser's redirect.
struct authorization_answer {
  std::string state, code, issuer, error, error_description;
};
/// Fault `login_failed`: the answer is an error, or comes from another issuer (RFC 9207).
result<void> check_answer(const authorization_answer& answer, const authorization_metadata& at);

/// A request to a token endpoint: form and headers. Both are secret.
struct token_request {
  std::string body;
  std::vector<std::string> headers;
};
token_request code_request(const client& as, const std::string& resource, const authorization_request& what,
                           const std::string& code);
token_request refresh_request(const grant& g);

/// `old` updated with the answer; the old refresh token stays if the answer has none. Faults: `login_failed` with the
/// server's error, or `login_over` if the server says that the grant is no longer valid.
result<grant> read_tokens(grant old, long status, std::string_view body, wall_time now);

} // namespace quell::integrations::oauth
