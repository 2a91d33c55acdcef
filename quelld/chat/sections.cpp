// The table of sections. A service is part of quelld once it has a row here.
#include "quelld/chat/sections.hpp"

namespace quell::controller::chat {

const std::vector<section>& sections() {
  static const std::vector<section> all = {
      {"slack", read_slack, nullptr},       {"telegram", read_telegram, nullptr}, {"discord", read_discord, nullptr},
      {"irc", read_irc, nullptr},           {"xmpp", read_xmpp, nullptr},         {"webhooks", nullptr, read_outgoing},
      {"incoming", nullptr, read_incoming},
  };
  return all;
}

} // namespace quell::controller::chat
