// The whole configuration of a quelld as it is read at the start and at each reload.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "actors/turns/settings.hpp"
#include "actors/voice/settings.hpp"
#include "protocol/fault.hpp"
#include "quelld/chat/settings.hpp"
#include "quelld/config.hpp"

namespace quell::controller {

struct loaded {
  config settings;
  turns::turn_settings turns;
  chat::chat_settings chats{};
  voice::voice_settings voice{};
};

/// The sources of the configuration that the command line names.
struct configuration_sources {
  std::string file;                            ///< "" = none
  std::map<std::string, std::string> settings; ///< key → text, over file and environment
  bool insecure = false;
};

/// Reads and checks all of it. Faults say the file, the place, the error and what to do.
result<loaded> load_all(const configuration_sources& from, const std::map<std::string, std::string>& environment);
/// As `--print-config` and `GET /v1/config` show it: TOML that a quelld can read, without secrets.
std::string printed_config(const loaded& all);

} // namespace quell::controller
