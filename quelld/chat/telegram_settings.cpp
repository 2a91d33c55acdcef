// The section [telegram].
#include "integrations/chat/telegram/telegram.hpp"
#include "quelld/chat/sections.hpp"

namespace quell::controller::chat {

configured_connector read_telegram(section_reader& from) {
  integrations::chat::telegram_settings s;
  auto& keys = from.keys;
  s.token = from.secret("token", section_reader::need::required);
  s.base_url = from.url("base_url", s.base_url);
  from.text("ca_file", s.ca_file);
  if (keys.has("webhook_url")) s.webhook_url = from.url("webhook_url", "");
  s.webhook_secret = from.secret("webhook_secret", s.webhook_url.empty() ? section_reader::need::optional
                                                                         : section_reader::need::required);
  constexpr auto allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  if (s.webhook_secret.size() > 256 || s.webhook_secret.find_first_not_of(allowed) != std::string::npos)
    keys.wrong("", "has a webhook_secret that Telegram does not take: 1 to 256 letters, digits, _ or -");
  from.texts("chats", s.chats, 1024, 1024 * 64);
  from.texts("users", s.users, 4096, 4096 * 64);
  from.flag("only_addressed", s.only_addressed);
  from.flag("show_place", s.shows_place);
  s.changes = from.changes(section_reader::reported::edits);
  from.flag("fetch_files", s.fetch_files);
  from.flag("buttons", s.buttons);
  from.time("poll", s.poll, milliseconds{1000});
  if (s.poll > milliseconds{50'000}) keys.wrong("poll", "must be at most 50s: Telegram holds no poll longer");
  from.time("edit_every", s.edit_every);
  from.time("pace", s.pace);
  from.time("group_pace", s.group_pace);
  from.number("burst", s.burst, 1, 100);
  from.time("timeout", s.timeout, milliseconds{100});
  from.time("retry_first", s.retry_first, milliseconds{1});
  from.time("retry_most", s.retry_most, milliseconds{1});
  return connected_by(std::move(s), integrations::chat::start_telegram);
}

} // namespace quell::controller::chat
