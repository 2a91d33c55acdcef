// Constants of Discord's gateway: intents, close codes, the form of its address. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quell::integrations::chat::discord {

/// GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT.
inline constexpr std::uint32_t gateway_intents = 1U << 0 | 1U << 9 | 1U << 12 | 1U << 15;

/// Events that we use: messages sent, edited and deleted; removed channels; threads; the start of a session.
inline bool is_listened_to(std::string_view type) {
  return type == "READY" || type == "MESSAGE_CREATE" || type == "MESSAGE_UPDATE" || type == "MESSAGE_DELETE" ||
         type == "MESSAGE_DELETE_BULK" || type == "CHANNEL_DELETE" || type == "THREAD_DELETE" ||
         type == "GUILD_DELETE" || type == "GUILD_CREATE" || type == "THREAD_CREATE" || type == "THREAD_UPDATE" ||
         type == "THREAD_LIST_SYNC";
}

/// The reason why this close code is final; nullptr: reconnecting can help.
inline const char* final_close(std::uint16_t code) {
  switch (code) {
  case 4004:
    return "Discord refuses the bot's token (4004); make a new one in the developer portal and restart quelld";
  case 4010:
  case 4011:
    return "Discord wants this bot to be sharded (4010, 4011), which quelld does not do: it is in too many guilds";
  case 4012:
    return "Discord no longer speaks version 10 of its gateway (4012)";
  case 4013:
  case 4014:
    return "Discord does not grant the intents (4013, 4014): switch on the Message Content intent in the developer "
           "portal and restart quelld";
  default:
    return nullptr;
  }
}

/// Close codes after which the session cannot be resumed.
inline bool forgets_session(std::uint16_t code) { return code == 4003 || code == 4007 || code == 4009; }

/// `base` with our protocol version and encoding.
inline std::string gateway_url(std::string base) {
  if (const auto query = base.find('?'); query != std::string::npos) base.resize(query);
  while (base.ends_with('/')) base.pop_back();
  return base + "/?v=10&encoding=json";
}

} // namespace quell::integrations::chat::discord
