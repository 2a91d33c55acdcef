// The section [slack].
#include "integrations/chat/slack/slack.hpp"
#include "quelld/chat/sections.hpp"

namespace quell::controller::chat {

configured_connector read_slack(section_reader& from) {
  integrations::chat::slack_settings s;
  auto& keys = from.keys;
  auto& lines = from.lines;
  s.bot_token = from.secret("bot_token", section_reader::need::required);
  s.signing_secret = from.secret("signing_secret", section_reader::need::required);
  s.base_url = from.url("base_url", s.base_url);
  s.file_urls = from.origins("file_urls", std::move(s.file_urls));
  from.text("ca_file", s.ca_file);
  from.texts("teams", s.teams, 256, 256 * 64);
  from.texts("users", s.users, 4096, 4096 * 64);
  if (keys.has("commands")) s.commands = keys.texts("commands", 32, 32 * 64);
  for (const auto& c : s.commands)
    if (c.size() < 2 || c.front() != '/') keys.wrong("commands", "has \"" + c + "\"; write each as \"/stop\"");
  lines.plain("commands", turns::toml_list(s.commands));
  from.flag("only_addressed", s.only_addressed);
  from.flag("show_place", s.shows_place);
  s.changes = from.changes(section_reader::reported::edits_and_deletions);
  from.flag("in_threads", s.in_threads);
  from.flag("buttons", s.buttons);
  from.time("edit_every", s.edit_every);
  from.time("pace", s.pace);
  from.number("burst", s.burst, 1, 100);
  from.time("timeout", s.timeout, milliseconds{100});
  return connected_by(std::move(s), integrations::chat::start_slack);
}

} // namespace quell::controller::chat
