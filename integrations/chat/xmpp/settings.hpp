// What is to be known to be a component of one XMPP server.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/chat/chat.hpp"
#include "protocol/time.hpp"

namespace quell::integrations::chat {

/// Secrets (`secret`, `room_passwords`) are never logged or shown.
struct xmpp_settings {
  std::string host = "127.0.0.1"; ///< where the server takes components
  std::uint16_t port = 5347;
  bool tls = false; ///< XEP-0114 has none of its own; some servers wrap it
  std::string tls_ca;
  bool plaintext = false; ///< without TLS to a host that is not this one

  std::string domain; ///< the component's own: `bot.example.org`
  std::string secret;
  std::string nick = "quell";     ///< what stands before the @ and how it is called in rooms
  std::vector<std::string> rooms; ///< entered and entered again; everybody there may speak to it
  std::vector<std::string> users; ///< addresses that may speak to it directly, or `@domain`; "*" = all
  std::map<std::string, std::string> room_passwords;
  bool only_addressed = true; ///< in rooms: what is not addressed to the bot is no message, cancels excepted
  bool corrections = false;   ///< replies grow by corrections (XEP-0308) instead of in parts

  milliseconds pace{500};        ///< a message each so often
  unsigned burst = 5;            ///< messages at once after a rest
  milliseconds silence{180'000}; ///< a server that says nothing for so long, asked in between, is gone
  milliseconds rejoin{5'000};    ///< first wait before a room is tried again; doubles up to `retry_most`
  milliseconds retry_first{1'000};
  milliseconds retry_most{300'000};

  /// True if the text is a cancel, by the configured words; such messages are never left out. Any thread.
  std::function<bool(std::string_view text, const std::vector<std::string>& bot_names)> is_cancel;
  /// A sentence for the log at each change of state. May be empty.
  std::function<void(const std::string&)> log;
  /// The time that people have; empty: the machine's.
  std::function<wall_time()> clock;
  /// Over restarts. Both empty: nothing is remembered.
  integrations::chat::memory memory;
};

} // namespace quell::integrations::chat
