// The readers of the sections, one per service, each in its own file.
#pragma once

#include <string>
#include <vector>

#include "quelld/chat/section.hpp"
#include "quelld/chat/settings.hpp"

namespace quell::controller::chat {

configured_connector read_slack(section_reader& from);    // slack_settings.cpp
configured_connector read_telegram(section_reader& from); // telegram_settings.cpp
configured_connector read_discord(section_reader& from);  // discord_settings.cpp
configured_connector read_irc(section_reader& from);      // irc_settings.cpp
configured_connector read_xmpp(section_reader& from);     // xmpp_settings.cpp

// For lists of tables; called for each table: webhook_settings.cpp
void read_outgoing(section_reader& from, chat_settings& to);
void read_incoming(section_reader& from, chat_settings& to);

/// A row of the table of sections; one of the two readers is set.
struct section {
  std::string name;
  configured_connector (*connector)(section_reader&) = nullptr; ///< for `[name]`
  void (*entry)(section_reader&, chat_settings&) = nullptr;     ///< for each `[[name]]`
};
const std::vector<section>& sections();

} // namespace quell::controller::chat
