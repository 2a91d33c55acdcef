// What Discord says, as values: messages of the gateway and interactions, with nothing in them that was not looked at.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/chat/chat.hpp"

namespace quell::integrations::chat::discord {

/// Discord's ids: 1 to 20 digits. They stand in paths and scopes as they are.
bool is_snowflake(std::string_view text);

/// `discord/<guild>/<channel>`; a direct message has no guild: `discord/dm/<channel>`. A thread is a channel of its
/// own.
std::optional<scope_path> discord_scope(std::string_view guild, std::string_view channel);
/// The channel of such a scope; "" for any other.
std::string channel_of(const scope_path& scope);

/// A message of a human as it is to be said: its id is `discord:<id>`, the bot's mention is taken out, it is addressed
/// if it mentions the bot, answers it, or is a direct message. nullopt: of a bot, of a webhook, of the system, without
/// text or anything attached, or no message at all.
std::optional<said> read_message(std::string_view json, std::string_view own_id);
/// Whether it is a reply to what another person said (or a bot; whether that is us `addressed` tells).
bool answers_another(std::string_view message);
/// What it carries beside its text, described: files, stickers, a poll, what was forwarded. "" = nothing.
std::string attached_to(std::string_view json);

enum class asked : std::uint8_t { ping, ask, stop, stop_turn, approve, deny, other };

/// Somebody used a command or a button.
struct interaction {
  asked what = asked::other;
  std::string id, application, token; ///< the token edits the answer for 15 minutes; a secret
  std::string guild;                  ///< "": direct
  std::optional<scope_path> scope;
  person by;
  std::string text;                   ///< of `ask`
  std::optional<operation_id> target; ///< of the buttons
};

/// Fault `bad_json`: it is none.
result<interaction> read_interaction(std::string_view json);

} // namespace quell::integrations::chat::discord
