// The section [discord].
#include "integrations/chat/admission.hpp"
#include "integrations/chat/discord/discord.hpp"
#include "integrations/chat/discord/ed25519.hpp"
#include "integrations/chat/discord/read.hpp"
#include "quelld/chat/sections.hpp"

namespace quell::controller::chat {
namespace {

constexpr std::size_t most_guilds = 2500, most_users = 4096, key_digits = 64;

} // namespace

configured_connector read_discord(section_reader& from) {
  integrations::chat::discord_settings s;
  auto& keys = from.keys;
  auto& lines = from.lines;
  s.token = from.secret("token", section_reader::need::required);
  // Not a secret: anyone may check what Discord signed.
  const auto digits = keys.text("public_key", 256);
  const auto key = integrations::chat::discord::from_hex(digits);
  if (!digits.empty() && (!key || digits.size() != key_digits))
    keys.wrong("public_key", "must be the 64 hex digits that the developer portal shows as Public Key");
  s.public_key = key.value_or("");
  lines.text("public_key", digits);
  from.flag("gateway", s.with_gateway);
  from.flag("register_commands", s.register_commands);
  from.flag("only_addressed", s.only_addressed);
  from.flag("show_place", s.shows_place);
  s.changes = from.changes(section_reader::reported::edits_and_deletions);
  s.guilds = keys.texts("guilds", most_guilds, most_guilds * 21);
  for (const auto& guild : s.guilds)
    if (guild != "*" && !integrations::chat::discord::is_snowflake(guild))
      keys.wrong("guilds", "has \"" + guild + "\"; write the server's id, digits only, as a string");
  lines.texts("guilds", s.guilds);
  s.users = keys.texts("users", most_users, most_users * 21);
  for (const auto& user : s.users)
    if (user != "*" && !integrations::chat::discord::is_snowflake(user))
      keys.wrong("users", "has \"" + user + "\"; write the person's id, digits only, as a string");
  lines.texts("users", s.users);
  s.api_url = from.url("api_url", s.api_url);
  s.gateway_url = keys.text("gateway_url", 2048);
  if (!s.gateway_url.empty() && !s.gateway_url.starts_with("wss://") && !s.gateway_url.starts_with("ws://"))
    keys.wrong("gateway_url", "must begin with wss:// or ws://");
  lines.text("gateway_url", s.gateway_url);
  s.file_urls = from.origins("file_urls", std::move(s.file_urls));
  from.text("ca_file", s.ca_file);
  if (!s.with_gateway && s.public_key.empty())
    keys.wrong("gateway", "is false and there is no public_key: nothing could be heard; give one of the two");
  const auto deaf_in = [guilds = s.guilds, users = s.users](const scope_path& place) -> std::string {
    const auto segments = place.segments();
    if (!users.empty() || segments.size() < 2 || segments[1] == "dm") return {};
    if (integrations::chat::is_listed(guilds, segments[1])) return {};
    return "[discord] guilds does not list " + std::string(segments[1]) + ", and users lists nobody";
  };
  auto made = connected_by(std::move(s), integrations::chat::start_discord);
  made.deaf_in = deaf_in;
  return made;
}

} // namespace quell::controller::chat
