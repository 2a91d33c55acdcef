// Requests to an authorization server, and its answers. Of an answer, only the error's name and text are ever shown.
#include "integrations/oauth/exchange.hpp"

#include <algorithm>

#include "integrations/chat/web.hpp"
#include "integrations/models/text.hpp"
#include "integrations/models/web_request.hpp"
#include "integrations/oauth/pkce.hpp"
#include "integrations/oauth/words.hpp"

namespace quell::integrations::oauth {
namespace {

constexpr std::size_t id_bytes = 2048, token_bytes = 16 * 1024, scope_bytes = 8192;
constexpr std::int64_t longest_life_s = 10LL * 365 * 24 * 3600;

bool is_visible(std::string_view text, std::size_t most) {
  return !text.empty() && text.size() <= most &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 0x7F; });
}

void add_field(std::string& to, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (!to.empty()) to += '&';
  to.append(name).append("=").append(chat::form_encoded(value));
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> found;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end > 0) found.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

/// The best authentication method that both the server and this client support.
client_auth best_auth(const authorization_metadata& at, bool has_secret) {
  if (!has_secret) return client_auth::none;
  const auto& offered = at.token_auth_methods;
  if (offered.empty() || has(offered, "client_secret_basic")) return client_auth::basic;
  return has(offered, "client_secret_post") ? client_auth::post : client_auth::none;
}

const char* name_of(client_auth how) {
  return how == client_auth::none ? "none" : how == client_auth::basic ? "client_secret_basic" : "client_secret_post";
}

token_request with_client(std::string body, const client& as) {
  token_request made{std::move(body), {"Content-Type: application/x-www-form-urlencoded", "Accept: application/json"}};
  if (as.how == client_auth::basic) {
    made.headers.push_back("Authorization: Basic " +
                           base64(chat::form_encoded(as.id) + ":" + chat::form_encoded(as.secret)));
    return made;
  }
  add_field(made.body, "client_id", as.id);
  if (as.how == client_auth::post) add_field(made.body, "client_secret", as.secret);
  return made;
}

std::string words_of_error(const json& answer, long status) {
  std::string text = excerpt(text_member(answer, "error"), 80);
  const std::string more = excerpt(text_member(answer, "error_description"), 200);
  if (text.empty()) text = "status " + std::to_string(status);
  return more.empty() ? text : text + " (" + more + ")";
}

} // namespace

std::optional<client> known_client(const client_settings& configured, const authorization_metadata& at) {
  if (!configured.id.empty())
    return client{configured.id, configured.secret, best_auth(at, !configured.secret.empty())};
  if (at.takes_metadata_documents && !configured.metadata_url.empty())
    return client{configured.metadata_url, {}, client_auth::none};
  return std::nullopt;
}

std::string registration_body(const authorization_metadata& at, const std::string& redirect_uri) {
  const auto& offered = at.token_auth_methods;
  const bool is_public = has(offered, "none") || (!offered.empty() && best_auth(at, true) == client_auth::none);
  json grants = json::array({"authorization_code"});
  if (at.gives_refresh_tokens) grants.push_back("refresh_token");
  return dump_json({{"client_name", "quell"},
                    {"application_type", "native"},
                    {"redirect_uris", json::array({redirect_uri})},
                    {"grant_types", std::move(grants)},
                    {"response_types", json::array({"code"})},
                    {"token_endpoint_auth_method", name_of(is_public ? client_auth::none : best_auth(at, true))}});
}

result<client> read_registration(long status, std::string_view body) {
  const auto answer = parse_json(body).value_or(json());
  client made{text_member(answer, "client_id"), text_member(answer, "client_secret"), client_auth::none};
  const bool is_client = (status == 200 || status == 201) && is_visible(made.id, id_bytes) &&
                         (made.secret.empty() || is_visible(made.secret, id_bytes));
  if (!is_client)
    return failure(error_code::login_failed,
                   "the authorization server does not register quell: " + words_of_error(answer, status) +
                       "; register it there yourself and configure client_id");
  const std::string how = text_member(answer, "token_endpoint_auth_method");
  if (!made.secret.empty() && how != "none")
    made.how = how == "client_secret_post" ? client_auth::post : client_auth::basic;
  return made;
}

std::string scope_to_ask(const challenge& demanded, const resource_metadata& of, const authorization_metadata& at,
                         const std::string& granted) {
  auto all = words_of(granted);
  for (const auto& one : demanded.scope.empty() ? of.scopes : words_of(demanded.scope))
    if (!has(all, one)) all.push_back(one);
  if (at.gives_refresh_tokens && has(at.scopes, "offline_access") && !has(all, "offline_access"))
    all.emplace_back("offline_access");
  std::string text;
  for (const auto& one : all)
    if (text.size() + one.size() < scope_bytes) text += (text.empty() ? "" : " ") + one;
  return text;
}

std::string authorization_url(const authorization_metadata& at, const client& as, const std::string& resource,
                              const authorization_request& what) {
  std::string query;
  add_field(query, "response_type", "code");
  add_field(query, "client_id", as.id);
  add_field(query, "redirect_uri", what.redirect_uri);
  add_field(query, "state", what.state);
  add_field(query, "code_challenge", s256_challenge(what.verifier));
  add_field(query, "code_challenge_method", "S256");
  add_field(query, "scope", what.scope);
  if (has(words_of(what.scope), "offline_access")) add_field(query, "prompt", "consent"); // OpenID Connect Core, 11
  add_field(query, "resource", resource);
  const auto& base = at.authorization_endpoint;
  return base + (base.find('?') == std::string::npos ? "?" : "&") + query;
}

result<void> check_answer(const authorization_answer& answer, const authorization_metadata& at) {
  if (answer.issuer.empty() ? at.says_issuer : answer.issuer != at.issuer)
    return failure(error_code::login_failed,
                   answer.issuer.empty()
                       ? "what the browser brought back does not say from which authorization server it is"
                       : "what the browser brought back is of another authorization server, \"" +
                             excerpt(answer.issuer, 200) + "\"");
  if (!answer.error.empty())
    return failure(error_code::login_failed,
                   "the authorization server refuses: " + excerpt(answer.error, 80) +
                       (answer.error_description.empty() ? "" : " (" + excerpt(answer.error_description, 200) + ")"));
  if (!is_visible(answer.code, token_bytes))
    return failure(error_code::login_failed, "the browser brought no code back");
  return {};
}

token_request code_request(const client& as, const std::string& resource, const authorization_request& what,
                           const std::string& code) {
  std::string body;
  add_field(body, "grant_type", "authorization_code");
  add_field(body, "code", code);
  add_field(body, "redirect_uri", what.redirect_uri);
  add_field(body, "code_verifier", what.verifier);
  add_field(body, "resource", resource);
  return with_client(std::move(body), as);
}

token_request refresh_request(const grant& g) {
  std::string body;
  add_field(body, "grant_type", "refresh_token");
  add_field(body, "refresh_token", g.refresh_token);
  add_field(body, "resource", g.resource);
  return with_client(std::move(body), g.as);
}

result<grant> read_tokens(grant old, long status, std::string_view body, wall_time now) {
  const auto answer = parse_json(body).value_or(json());
  if (status != 200) {
    const bool is_over = status == 400 && text_member(answer, "error") == "invalid_grant";
    return failure(is_over ? "login_over" : std::string(text_of(error_code::login_failed)),
                   "the authorization server gives no token: " + words_of_error(answer, status));
  }
  const std::string token = text_member(answer, "access_token"), refresh = text_member(answer, "refresh_token");
  if (!is_visible(token, token_bytes) || lower(text_member(answer, "token_type")) != "bearer")
    return failure(error_code::login_failed, "the authorization server answers with what is not a bearer token");
  old.access_token = token;
  if (is_visible(refresh, token_bytes)) old.refresh_token = refresh;
  if (const std::string scope = text_member(answer, "scope"); !scope.empty()) old.scope = scope.substr(0, scope_bytes);
  old.expires_at.reset();
  if (const json& life = member(answer, "expires_in"); life.is_number() && life.get<double>() >= 0)
    old.expires_at = now + std::chrono::seconds(static_cast<std::int64_t>(
                               std::min(life.get<double>(), static_cast<double>(longest_life_s))));
  return old;
}

} // namespace quell::integrations::oauth
