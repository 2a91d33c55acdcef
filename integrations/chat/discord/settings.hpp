// [discord]: settings of a Discord bot.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/chat/change_rules.hpp"
#include "integrations/chat/chat.hpp"

namespace quell::integrations::chat {

struct discord_settings {
  std::string token;               ///< of the bot; a secret
  std::string public_key;          ///< of the application, 32 raw bytes; "": no interactions endpoint
  bool with_gateway = true;        ///< read messages; without it only commands and buttons arrive
  bool register_commands = true;   ///< /ask and /stop, when the bot connects
  std::vector<std::string> guilds; ///< servers where everybody may speak to it; "*" = all
  std::vector<std::string> users;  ///< ids of people who may everywhere, also by direct message; "*" = all
  std::string api_url = "https://discord.com/api/v10";
  bool only_addressed = true; ///< in channels: ignores messages not addressed to the bot, except cancels
  std::string gateway_url;    ///< "": requested from Discord
  /// Where the files of messages may be fetched from; empty: they are not fetched.
  std::vector<std::string> file_urls{"https://cdn.discordapp.com", "https://media.discordapp.net"};
  std::string ca_file;      ///< PEM of authorities; "": the system's
  bool shows_place = false; ///< who waits behind several turns reads their number
  change_rules changes;     ///< what edits and deletions of requests do

  /// True if the text is a cancel, by the configured words; such messages are never dropped. Any thread.
  std::function<bool(std::string_view text, const std::vector<std::string>& bot_names)> is_cancel;
  /// Gets a sentence for the log at each change of state. Can be empty.
  std::function<void(const std::string&)> log;
  /// Storage over restarts. Both functions empty: nothing is remembered.
  integrations::chat::memory memory;
  /// The same for what was heard in which channel: of a large bot much text, which is written less often.
  integrations::chat::memory positions;
};

} // namespace quell::integrations::chat
