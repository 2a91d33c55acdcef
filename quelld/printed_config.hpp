// The whole configuration as `--print-config` and `GET /v1/config` show it: TOML that a quelld can read, without
// secrets.
#pragma once

#include <string>

#include "quelld/chat/settings.hpp"
#include "quelld/config.hpp"
#include "quelld/settings/turn_settings.hpp"
#include "quelld/settings/voice_settings.hpp"

namespace quell::controller {

inline std::string printed_config(const config& settings, const turns::turn_settings& turns,
                                  const chat::chat_settings& chats, const voice::voice_settings& voice) {
  return config_text(settings) + turns::turn_settings_text(turns) + chats.text + voice.text;
}

} // namespace quell::controller
