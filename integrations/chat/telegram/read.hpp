// Updates of Telegram as values. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "integrations/chat/chat.hpp"

namespace quell::integrations::chat::telegram {

/// Who the bot is, as getMe says.
struct self {
  std::int64_t id = 0;
  std::string username; ///< without @
  std::string name;
};

/// A message of a person, never one of a bot.
struct message {
  std::string stamp; ///< of an edit: another for each; "" = it is none
  std::string chat;  ///< its id, as decimal text
  std::string topic; ///< of a forum; "" = none
  std::string id;    ///< of the message within the chat
  std::string user, user_name;
  std::string text;     ///< without a mention of the bot at its beginning; a command without its slash and target
  std::string attached; ///< files and what else it carries, described
  std::string command;  ///< `stop`, `start`, …, lower case; "" = none
  bool is_private = false;
  bool answers_others = false; ///< a reply to what another person said
  bool is_addressed = false;   ///< private, a mention, a reply to the bot, or a command
};

/// A button below one of our messages.
struct pressed {
  std::string query; ///< to be answered
  std::string chat, topic;
  std::string user, user_name;
  std::string data; ///< as we wrote it
};

struct nothing {};

struct update {
  std::int64_t id = 0;
  std::variant<nothing, message, pressed> what;
};

/// One update; fault `bad_request` if it is none.
result<update> read_update(std::string_view json_text, const self& me);
/// The answer of getUpdates. Fault `bad_request` with Telegram's own words where it says no.
result<std::vector<update>> read_updates(std::string_view json_text, const self& me);
/// The answer of getMe.
result<self> read_self(std::string_view json_text);

} // namespace quell::integrations::chat::telegram
