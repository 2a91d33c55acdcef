// Grants as JSON and back.
#include "integrations/oauth/grant.hpp"

#include "integrations/models/json.hpp"

namespace quell::integrations::oauth {
namespace {

constexpr const char* how_names[] = {"none", "client_secret_basic", "client_secret_post"};

} // namespace

std::string grant_text(const grant& g) {
  json all{{"server", g.server},
           {"issuer", g.issuer},
           {"token_endpoint", g.token_endpoint},
           {"resource", g.resource},
           {"client_id", g.as.id},
           {"client_secret", g.as.secret},
           {"token_endpoint_auth_method", how_names[static_cast<std::size_t>(g.as.how)]},
           {"access_token", g.access_token},
           {"refresh_token", g.refresh_token},
           {"scope", g.scope},
           {"expires_at_ms", nullptr}};
  if (g.expires_at) all["expires_at_ms"] = g.expires_at->time_since_epoch().count();
  return dump_json(all);
}

std::optional<grant> read_grant(std::string_view text) {
  const auto all = parse_json(text);
  if (!all || !all->is_object()) return std::nullopt;
  grant g;
  g.server = text_member(*all, "server");
  g.issuer = text_member(*all, "issuer");
  g.token_endpoint = text_member(*all, "token_endpoint");
  g.resource = text_member(*all, "resource");
  g.as.id = text_member(*all, "client_id");
  g.as.secret = text_member(*all, "client_secret");
  const std::string how = text_member(*all, "token_endpoint_auth_method");
  for (std::size_t i = 0; i < std::size(how_names); ++i)
    if (how == how_names[i]) g.as.how = static_cast<client_auth>(i);
  g.access_token = text_member(*all, "access_token");
  g.refresh_token = text_member(*all, "refresh_token");
  g.scope = text_member(*all, "scope");
  if (const json& until = member(*all, "expires_at_ms"); until.is_number_integer())
    g.expires_at = wall_time(milliseconds(until.get<std::int64_t>()));
  if (g.server.empty() || g.access_token.empty() || g.token_endpoint.empty()) return std::nullopt;
  return g;
}

} // namespace quell::integrations::oauth
