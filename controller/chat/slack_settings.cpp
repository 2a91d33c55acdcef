// The section [slack].
#include "controller/chat/sections.hpp"
#include "integrations/chat/slack/slack.hpp"
#include "protocol/duration.hpp"

namespace quell::controller::chat {

configured_connector read_slack(section_reader& from) {
  integrations::chat::slack_settings s;
  auto& keys = from.keys;
  auto& lines = from.lines;
  const auto time = [&](const char* key, milliseconds& value) {
    value = keys.duration(key, value, milliseconds{0});
    lines.text(key, duration_text(value));
  };
  s.bot_token = from.secret("bot_token", true);
  s.signing_secret = from.secret("signing_secret", true);
  s.base_url = from.url("base_url", s.base_url);
  s.ca_file = keys.text("ca_file", 4096);
  lines.text("ca_file", s.ca_file);
  s.teams = keys.texts("teams", 256, 256 * 64);
  lines.texts("teams", s.teams);
  if (keys.has("commands")) s.commands = keys.texts("commands", 32, 32 * 64);
  for (const auto& c : s.commands)
    if (c.size() < 2 || c.front() != '/') keys.wrong("commands", "has \"" + c + "\"; write each as \"/stop\"");
  lines.plain("commands", turns::toml_list(s.commands));
  s.only_addressed = keys.flag("only_addressed", s.only_addressed);
  lines.flag("only_addressed", s.only_addressed);
  s.in_threads = keys.flag("in_threads", s.in_threads);
  lines.flag("in_threads", s.in_threads);
  s.buttons = keys.flag("buttons", s.buttons);
  lines.flag("buttons", s.buttons);
  time("edit_every", s.edit_every);
  time("pace", s.pace);
  s.burst = keys.number("burst", s.burst, 1, 100);
  lines.plain("burst", std::to_string(s.burst));
  s.timeout = keys.duration("timeout", s.timeout, milliseconds{100});
  lines.text("timeout", duration_text(s.timeout));
  return {{}, {}, [s](const connector_tools& tools) {
            auto own = s;
            own.is_cancel = tools.is_cancel;
            own.log = tools.log;
            return integrations::chat::start_slack(std::move(own), tools.at);
          }};
}

} // namespace quell::controller::chat
