// Discord's input as values: messages of the gateway and interactions, with every field checked. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/chat/chat.hpp"

namespace quell::integrations::chat::discord {

/// Discord's ids: 1 to 20 digits. They are used unchanged in paths and scopes.
bool is_snowflake(std::string_view text);

/// `discord/<guild>/<channel>`; a direct message has no guild: `discord/dm/<channel>`. A thread is a channel of its
/// own.
std::optional<scope_path> discord_scope(std::string_view guild, std::string_view channel);
/// The channel of such a scope; "" for any other.
std::string channel_of(const scope_path& scope);

/// A human's message in the form for quelld: its id is `discord:<id>`, the bot's mention is removed, and it is
/// addressed if it mentions the bot, replies to it, or is a direct message. nullopt: it is from a bot, a webhook or the
/// system, has neither text nor attachments, or is not a message at all.
std::optional<incoming_message> read_message(std::string_view json, std::string_view own_id);
/// Whether it is a reply to another person's message (or a bot's; `addressed` says whether that bot is us).
bool answers_another(std::string_view message);
/// Whether an edit says whom its message is for: Discord may send a part of the message only.
bool tells_addressee(std::string_view message);
/// Its attachments, described: files, stickers, a poll, a forwarded message. "" = none.
std::string attached_to(std::string_view json);

/// The files among them, also those of a forwarded message. At most 20; their places are addresses.
std::vector<offered_file> files_of(std::string_view json);

enum class interaction_kind : std::uint8_t { ping, ask, stop, stop_turn, approve, deny, other };

/// Somebody used a command or a button.
struct interaction {
  interaction_kind what = interaction_kind::other;
  std::string id, application, token; ///< the token can edit the answer for 15 minutes; a secret
  std::string guild;                  ///< "": a direct message
  std::optional<scope_path> scope;
  person by;
  std::string text;                   ///< of `ask`
  std::optional<operation_id> target; ///< of the buttons
};

/// Fault `bad_json`: not an interaction.
result<interaction> read_interaction(std::string_view json);

} // namespace quell::integrations::chat::discord
