// [telegram]: settings of a Telegram bot.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/chat/change_rules.hpp"
#include "integrations/chat/chat.hpp"
#include "protocol/time.hpp"

namespace quell::integrations::chat {

/// `token` and `webhook_secret` are secrets: never logged or shown.
struct telegram_settings {
  std::string token; ///< from @BotFather
  std::string base_url = "https://api.telegram.org";
  std::string ca_file;            ///< PEM of authorities; "": the system's
  std::string webhook_url;        ///< where Telegram reaches `/v1/chat/telegram/updates`; "": long poll
  std::string webhook_secret;     ///< with a webhook: required X-Telegram-Bot-Api-Secret-Token
  std::vector<std::string> chats; ///< where everybody may speak to it; "*" = all
  std::vector<std::string> users; ///< people who may in every chat, also directly; "*" = all
  bool only_addressed = true;     ///< in groups: ignores messages not addressed to the bot, except cancels
  bool fetch_files = true;        ///< photos and documents of messages
  bool buttons = true;            ///< a Stop button below a reply, Approve and Deny below a question
  milliseconds poll{25'000};      ///< longest time that Telegram holds a poll open
  milliseconds edit_every{2000};  ///< minimum interval between edits of one message
  milliseconds pace{1050};        ///< interval between requests in one private chat …
  milliseconds group_pace{3100};  ///< … and in one group
  unsigned burst = 3;             ///< at once after a rest
  milliseconds timeout{20'000};   ///< of one request except polls
  milliseconds retry_first{1000}; ///< after a failed poll; doubles up to `retry_most`
  milliseconds retry_most{60'000};
  bool shows_place = false; ///< who waits behind several turns reads their number
  change_rules changes;     ///< what edits and deletions of requests do

  /// True if the text is a cancel, by the configured words; such messages are never dropped. Any thread.
  std::function<bool(std::string_view text, const std::vector<std::string>& bot_names)> is_cancel;
  /// Gets a sentence for the log at each change of state. Can be empty.
  std::function<void(const std::string&)> log;
  /// Storage over restarts. Both functions empty: nothing is remembered.
  integrations::chat::memory memory;
};

} // namespace quell::integrations::chat
