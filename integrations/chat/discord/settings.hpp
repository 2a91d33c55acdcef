// [discord]: how a bot of Discord is connected.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/chat/chat.hpp"

namespace quell::integrations::chat {

struct discord_settings {
  std::string token;               ///< of the bot; a secret
  std::string public_key;          ///< of the application, 32 raw bytes; "": there is no interactions endpoint
  bool with_gateway = true;        ///< read messages; without it commands and buttons are all that is heard
  bool register_commands = true;   ///< /ask and /stop, when the bot connects
  std::vector<std::string> guilds; ///< servers where everybody may speak to it; "*" = all
  std::vector<std::string> users;  ///< ids of people who may everywhere, also directly; "*" = all
  std::string api_url = "https://discord.com/api/v10";
  bool only_addressed = true; ///< in channels: what is not addressed to the bot is no message, cancels excepted
  std::string gateway_url;    ///< "": Discord is asked for it
  std::string ca_file;        ///< PEM of authorities; "": the system's

  /// True if the text is a cancel, by the configured words; such messages are never left out. Any thread.
  std::function<bool(std::string_view text, const std::vector<std::string>& bot_names)> is_cancel;
  /// A sentence for the log at each change of state. May be empty.
  std::function<void(const std::string&)> log;
  /// Over restarts. Both empty: nothing is remembered.
  integrations::chat::memory memory;
};

} // namespace quell::integrations::chat
