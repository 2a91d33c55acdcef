// Slack's requests to `/v1/chat/slack/…`, as values. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "integrations/chat/chat.hpp"

namespace quell::integrations::chat::slack {

/// A person's message. Never one of a bot or a notice of the service.
struct message {
  enum class news : std::uint8_t { posted, edited, deleted } what = news::posted;
  std::string stamp; ///< edited: distinct for each edit
  std::string team, channel;
  std::string ts;     ///< its id within the channel
  std::string thread; ///< ts of the thread's first message; "" = not in one
  std::string user;
  std::string text;                  ///< readable: without the escapes, mentions by name, without a mention of the bot
  std::string attached;              ///< description of files and other attachments
  std::vector<offered_file> files{}; ///< at most 20; their places are addresses that need the token
  bool is_direct = false;
  bool is_addressed = false; ///< a direct message, or it mentions the bot
};

struct challenge {
  std::string text; ///< must be sent back
};
struct nothing {}; ///< known, and of no interest to us

/// The channel is closed to everybody.
struct channel_end {
  std::string team, channel, why;
};

/// The body of `events`; `bot_user`: our own user id, "" = only as the request gives it. Fault `bad_request`.
using event_body = std::variant<nothing, challenge, message, channel_end>;
result<event_body> read_event(std::string_view body, std::string_view bot_user);

/// The body of `commands`: a form.
struct command {
  std::string team, channel, name, text, user, user_name, trigger;
  bool is_direct = false;
};
result<command> read_command(std::string_view body);

/// The body of `actions`: a form with `payload`. A button that is not ours gets kind "".
struct pressed {
  std::string kind;  ///< `quell_stop`, `quell_approve`, `quell_deny`
  std::string value; ///< an operation id
  std::string team, channel, thread, user, user_name, ts;
};
result<pressed> read_action(std::string_view body);

/// Slack's text as people read it; a mention of `bot_user` is removed and reported.
std::string readable(std::string_view text, std::string_view bot_user, bool& mentions_bot);

} // namespace quell::integrations::chat::slack
