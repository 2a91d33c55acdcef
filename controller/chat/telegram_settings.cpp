// The section [telegram].
#include "controller/chat/sections.hpp"
#include "integrations/chat/telegram/telegram.hpp"
#include "protocol/duration.hpp"

namespace quell::controller::chat {

configured_connector read_telegram(section_reader& from) {
  integrations::chat::telegram_settings s;
  auto& keys = from.keys;
  auto& lines = from.lines;
  const auto time = [&](const char* key, milliseconds& value, milliseconds least = milliseconds{0}) {
    value = keys.duration(key, value, least);
    lines.text(key, duration_text(value));
  };
  const auto flag = [&](const char* key, bool& value) {
    value = keys.flag(key, value);
    lines.flag(key, value);
  };
  s.token = from.secret("token", true);
  s.base_url = from.url("base_url", s.base_url);
  s.ca_file = keys.text("ca_file", 4096);
  lines.text("ca_file", s.ca_file);
  if (keys.has("webhook_url")) s.webhook_url = from.url("webhook_url", "");
  s.webhook_secret = from.secret("webhook_secret", !s.webhook_url.empty());
  constexpr auto allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  if (s.webhook_secret.size() > 256 || s.webhook_secret.find_first_not_of(allowed) != std::string::npos)
    keys.wrong("", "has a webhook_secret that Telegram does not take: 1 to 256 letters, digits, _ or -");
  s.chats = keys.texts("chats", 1024, 1024 * 64);
  lines.texts("chats", s.chats);
  flag("only_addressed", s.only_addressed);
  flag("buttons", s.buttons);
  time("poll", s.poll, milliseconds{1000});
  if (s.poll > milliseconds{50'000}) keys.wrong("poll", "must be at most 50s: Telegram holds no poll longer");
  time("edit_every", s.edit_every);
  time("pace", s.pace);
  time("group_pace", s.group_pace);
  s.burst = keys.number("burst", s.burst, 1, 100);
  lines.plain("burst", std::to_string(s.burst));
  time("timeout", s.timeout, milliseconds{100});
  time("retry_first", s.retry_first, milliseconds{1});
  time("retry_most", s.retry_most, milliseconds{1});
  return {{}, {}, [s](const connector_tools& tools) {
            auto own = s;
            own.is_cancel = tools.is_cancel;
            own.log = tools.log;
            return integrations::chat::start_telegram(std::move(own), tools.at);
          }};
}

} // namespace quell::controller::chat
