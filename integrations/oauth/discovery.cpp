// Reads metadata documents defensively: they come from servers that we do not trust.
#include "integrations/oauth/discovery.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "integrations/models/web_request.hpp"
#include "integrations/oauth/words.hpp"

namespace quell::integrations::oauth {
namespace {

constexpr std::size_t url_bytes = 2048, most_entries = 256, entry_bytes = 256;
constexpr auto code = error_code::login_failed;

std::string part_of(CURLU* url, CURLUPart what, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, what, &text, flags) != CURLUE_OK || !text) return {};
  const std::string found(text);
  curl_free(text);
  return found;
}

/// The strings of a list; items that are not strings, or are too long, are left out.
std::vector<std::string> texts(const json& document, const char* name) {
  std::vector<std::string> found;
  const json& list = member(document, name);
  if (!list.is_array()) return found;
  for (const json& one : list)
    if (one.is_string() && found.size() < most_entries && !one.get_ref<const std::string&>().empty() &&
        one.get_ref<const std::string&>().size() <= entry_bytes)
      found.push_back(one.get<std::string>());
  return found;
}

} // namespace

result<web_address> read_address(const std::string& url) {
  const auto no = [&] { return failure(code, shown(url) + " is not an http or https address that can be used"); };
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(curl_url(), curl_url_cleanup);
  const bool is_clean = std::none_of(url.begin(), url.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7F; });
  if (!is_clean || url.size() > url_bytes || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK)
    return no();
  const std::string scheme = part_of(parsed.get(), CURLUPART_SCHEME);
  std::string host = lower(part_of(parsed.get(), CURLUPART_HOST));
  if ((scheme != "http" && scheme != "https") || host.empty() || !part_of(parsed.get(), CURLUPART_USER).empty() ||
      !part_of(parsed.get(), CURLUPART_FRAGMENT).empty())
    return no();
  web_address found;
  found.is_secure = scheme == "https";
  found.is_loopback = host == "localhost" || host.ends_with(".localhost") || host == "[::1]" ||
                      (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
  const std::string port = part_of(parsed.get(), CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
  found.origin = scheme + "://" + host + (port.empty() ? "" : ":" + port);
  found.path = part_of(parsed.get(), CURLUPART_PATH);
  while (found.path.ends_with('/')) found.path.pop_back();
  if (const auto query = part_of(parsed.get(), CURLUPART_QUERY); !query.empty()) found.query = "?" + query;
  return found;
}

bool may_trust(const std::string& url, const web_address& base) {
  const auto address = read_address(url);
  return address && (address->is_secure || (address->is_loopback && base.is_loopback));
}

std::vector<std::string> resource_metadata_urls(const web_address& server) {
  const std::string root = server.origin + "/.well-known/oauth-protected-resource";
  if (server.path.empty() && server.query.empty()) return {root};
  return {root + server.path + server.query, root};
}

std::vector<std::string> authorization_metadata_urls(const web_address& issuer) {
  const std::string oauth = issuer.origin + "/.well-known/oauth-authorization-server",
                    openid = issuer.origin + "/.well-known/openid-configuration";
  if (issuer.path.empty()) return {oauth, openid};
  return {oauth + issuer.path, openid + issuer.path, issuer.origin + issuer.path + "/.well-known/openid-configuration"};
}

result<resource_metadata> read_resource_metadata(const json& document, const web_address& server) {
  resource_metadata found;
  found.resource = text_member(document, "resource");
  const auto resource = read_address(found.resource);
  // The resource must be the server itself or a parent path of it.
  const bool is_it = resource && resource->origin == server.origin &&
                     (resource->path == server.path || server.path.starts_with(resource->path + "/"));
  if (!is_it)
    return failure(code, "the server's metadata is about " + shown(found.resource) + ", which is another server");
  const auto issuers = texts(document, "authorization_servers");
  if (issuers.empty()) return failure(code, "the server's metadata names no authorization server");
  found.issuer = issuers.front();
  if (!may_trust(found.issuer, server))
    return failure(code, "its authorization server " + shown(found.issuer) + " is not reached by https");
  found.scopes = texts(document, "scopes_supported");
  return found;
}

result<authorization_metadata> read_authorization_metadata(const json& document, const std::string& issuer,
                                                           const web_address& server) {
  authorization_metadata found;
  found.issuer = text_member(document, "issuer");
  if (found.issuer != issuer)
    return failure(code, "the authorization server " + shown(issuer) + " says that it is " + shown(found.issuer));
  found.authorization_endpoint = text_member(document, "authorization_endpoint");
  found.token_endpoint = text_member(document, "token_endpoint");
  found.registration_endpoint = text_member(document, "registration_endpoint");
  for (const std::string* one : {&found.authorization_endpoint, &found.token_endpoint})
    if (!may_trust(*one, server))
      return failure(code, "the authorization server " + shown(issuer) + " has an endpoint " + shown(*one) +
                               ", which is not reached by https");
  if (!found.registration_endpoint.empty() && !may_trust(found.registration_endpoint, server))
    found.registration_endpoint.clear();
  if (!has(texts(document, "code_challenge_methods_supported"), "S256"))
    return failure(code, "the authorization server " + shown(issuer) +
                             " does not say that it can do PKCE with S256, without which a login is not safe");
  found.scopes = texts(document, "scopes_supported");
  found.token_auth_methods = texts(document, "token_endpoint_auth_methods_supported");
  found.takes_metadata_documents = member(document, "client_id_metadata_document_supported") == json(true);
  found.says_issuer = member(document, "authorization_response_iss_parameter_supported") == json(true);
  const auto grants = texts(document, "grant_types_supported");
  found.gives_refresh_tokens = grants.empty() || has(grants, "refresh_token");
  return found;
}

} // namespace quell::integrations::oauth
