// Settings of a component of one XMPP server.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/chat/change_rules.hpp"
#include "integrations/chat/chat.hpp"
#include "protocol/time.hpp"

namespace quell::integrations::chat {

/// Secrets (`secret`, `room_passwords`) are never logged or shown.
struct xmpp_settings {
  std::string host = "127.0.0.1"; ///< where the server accepts components
  std::uint16_t port = 5347;
  bool tls = false; ///< XEP-0114 has no TLS of its own; some servers wrap it
  std::string tls_ca;
  bool plaintext = false; ///< allow a connection without TLS to another host

  std::string domain; ///< the component's own domain: `bot.example.org`
  std::string secret;
  std::string nick = "quell";     ///< the part before the @, and the nick in rooms
  std::vector<std::string> rooms; ///< joined and rejoined; everybody there may speak to it
  std::vector<std::string> users; ///< addresses that may speak to it directly, or `@domain`; "*" = all
  std::map<std::string, std::string> room_passwords;
  bool only_addressed = true; ///< in rooms: ignores messages not addressed to the bot, except cancels
  change_rules changes{};     ///< of requests that people correct or take back
  bool corrections = false;   ///< replies grow by corrections (XEP-0308) instead of in parts

  milliseconds pace{500};        ///< interval between messages
  unsigned burst = 5;            ///< messages at once after a rest
  milliseconds silence{180'000}; ///< after this long without an answer, also to a ping, the server counts as gone
  milliseconds rejoin{5'000};    ///< first wait before a room is retried; doubles up to `retry_most`
  milliseconds retry_first{1'000};
  milliseconds retry_most{300'000};

  /// True if the text is a cancel, by the configured words; such messages are never dropped. Any thread.
  std::function<bool(std::string_view text, const std::vector<std::string>& bot_names)> is_cancel;
  /// Gets a sentence for the log at each change of state. Can be empty.
  std::function<void(const std::string&)> log;
  /// Wall-clock time; empty: the system clock.
  std::function<wall_time()> clock;
  /// Storage over restarts. Both functions empty: nothing is remembered.
  integrations::chat::memory memory;
};

} // namespace quell::integrations::chat
