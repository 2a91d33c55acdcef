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

/// The bot's identity from getMe.
struct self {
  std::int64_t id = 0;
  std::string username; ///< without @
  std::string name;
};

/// A person's message, never a bot's.
struct message {
  std::string stamp; ///< of an edit: distinct for each; "" = not an edit
  std::string chat;  ///< chat id as decimal text
  std::string topic; ///< of a forum; "" = none
  std::string id;    ///< of the message within the chat
  std::string user, user_name;
  std::string text;                  ///< without a leading mention of the bot; a command without its slash and target
  std::string attached;              ///< description of files and other attachments
  std::vector<offered_file> files{}; ///< a photo or a document; their places are file ids
  std::string command;               ///< `stop`, `start`, …, lower case; "" = none
  bool is_private = false;
  bool answers_others = false; ///< a reply to another person's message
  bool is_addressed = false;   ///< private, a mention, a reply to the bot, or a command
};

/// A click on a button below one of our messages.
struct pressed {
  std::string query; ///< id that must be answered
  std::string chat, topic;
  std::string user, user_name;
  std::string data; ///< as we sent it
};

struct nothing {};

struct update {
  std::int64_t id = 0;
  std::variant<nothing, message, pressed> what;
};

/// One update; fault `bad_request` if it is malformed.
result<update> read_update(std::string_view json_text, const self& me);
/// The answer of getUpdates. Fault `bad_request` with Telegram's error text if it refuses.
result<std::vector<update>> read_updates(std::string_view json_text, const self& me);
/// The answer of getFile: the path of a file, checked to be one. Fault `bad_request` with Telegram's error text.
result<std::string> read_file_path(std::string_view json_text);
/// The answer of getMe.
result<self> read_self(std::string_view json_text);

} // namespace quell::integrations::chat::telegram
