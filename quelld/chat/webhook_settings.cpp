// The lists [[webhooks]] and [[incoming]].
#include <algorithm>

#include "integrations/chat/webhook/signature.hpp"
#include "protocol/event_type.hpp"
#include "protocol/sha256.hpp"
#include "quelld/chat/sections.hpp"
#include "quelld/settings/settings_read.hpp"

namespace quell::controller::chat {
namespace {

constexpr std::size_t most_types = 64, most_type_bytes = 64, webhook_url_bytes = 2048, name_bytes = 64,
                      name_digits = 12;

std::string key_of(section_reader& from) {
  const auto secret = from.secret("secret", section_reader::need::required);
  if (secret.empty()) return {};
  auto key = integrations::chat::webhook_key(secret);
  if (!key)
    from.keys.wrong(from.keys.has("secret_file") ? "secret_file" : "secret_env",
                    "is not usable: " + key.error().detail);
  return key.value_or("");
}

std::optional<scope_path> scope_of(section_reader& from) {
  const auto text = from.keys.text_if("scope", 512);
  if (!text) return std::nullopt;
  auto scope = scope_path::parse(*text);
  if (!scope) {
    from.keys.wrong("scope", "is not a scope: " + scope.error().detail);
    return std::nullopt;
  }
  from.lines.text("scope", *text);
  return std::move(*scope);
}

template <class Entries>
bool has_name(const Entries& entries, const std::string& name) {
  return std::any_of(entries.begin(), entries.end(), [&](const auto& e) { return e.name == name; });
}

void check_name(section_reader& from, const std::string& name) {
  if (!turns::is_configured_name(name)) from.keys.wrong("name", "must be 1 to 64 letters, digits, _ or -");
}

} // namespace

void read_outgoing(section_reader& from, chat_settings& to) {
  integrations::chat::outgoing_webhook w;
  auto& keys = from.keys;
  w.url = keys.text("url", webhook_url_bytes);
  if (!w.url.starts_with("http://") && !w.url.starts_with("https://"))
    keys.wrong(keys.has("url") ? "url" : "", "needs a url that begins with https:// or http://");
  from.lines.text("url", w.url);
  const auto name = keys.text_if("name", name_bytes);
  // Derived from the address, so that a new address begins anew and a restart does not.
  w.name = name ? *name : "webhook-" + sha256_hex(w.url).substr(0, name_digits);
  check_name(from, w.name);
  if (has_name(to.outgoing, w.name))
    keys.wrong(name ? "name" : "url", "stands in two [[webhooks]]; give each a name of its own");
  from.lines.text("name", w.name);
  w.scope = scope_of(from);
  w.types = keys.texts("types", most_types, most_types * most_type_bytes);
  from.lines.texts("types", w.types);
  for (const auto& type : w.types)
    if (type.empty() || type.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string::npos)
      keys.wrong("types", "has \"" + type + "\", which is not an event type");
    else if (event_type_of(type) == event_type::output)
      keys.wrong("types", "has output, which is not a stored event; read it with GET /v1/operations/{id}/output");
  w.key = key_of(from);
  w.ca_file = keys.text("ca_file", 4096);
  from.lines.text("ca_file", w.ca_file);
  to.outgoing.push_back(std::move(w));
}

void read_incoming(section_reader& from, chat_settings& to) {
  integrations::chat::incoming_webhook w;
  auto& keys = from.keys;
  w.name = keys.text("name", name_bytes);
  check_name(from, w.name);
  if (has_name(to.incoming, w.name)) keys.wrong("name", "stands in two [[incoming]]; give each a name of its own");
  from.lines.text("name", w.name);
  const auto own = scope_path::parse("webhook/" + w.name);
  const auto top = *scope_path::parse("webhook");
  if (const auto scope = scope_of(from)) {
    w.scope = *scope;
    if (!scope->is_at_or_below(top))
      keys.wrong("scope", "must be webhook or lie below it, as in \"webhook/" + w.name + "\"");
  } else if (own) {
    w.scope = *own;
    from.lines.text("scope", own->text());
  }
  w.agent = keys.text_if("agent", name_bytes);
  if (w.agent) from.lines.text("agent", *w.agent);
  w.key = key_of(from);
  to.incoming.push_back(std::move(w));
}

result<void> check_agents(const chat_settings& chats, const turns::turn_settings& turns) {
  for (const auto& w : chats.incoming) {
    if (!w.agent || turns::agent_for(turns, w.scope, w.agent)) continue;
    return failure(error_code::invalid_field,
                   "[[incoming]] \"" + w.name + "\": agent \"" + *w.agent + "\" " +
                       (turns.agent(*w.agent) ? "does not serve scope " + w.scope.text() + "; add it to its scopes"
                                              : "is in no [[agents]]; configure it, or leave it out"));
  }
  return {};
}

} // namespace quell::controller::chat
