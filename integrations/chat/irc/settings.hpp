// Settings of a connection to one IRC network.
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

/// Secrets (`password`, `sasl_password`, `keys`) are never logged or shown.
struct irc_settings {
  std::string host;
  std::uint16_t port = 6697;
  bool tls = true; ///< false only by explicit option: then everything, passwords too, is sent in clear text
  std::string tls_ca, tls_cert, tls_key;

  std::string network; ///< second segment of the scopes; "": the host
  std::string nick = "quell";
  std::string real_name = "quell";
  std::string password;                 ///< the server's password (PASS); "": none
  std::string sasl_user, sasl_password; ///< SASL PLAIN, if the user is set
  bool sasl_external = false;           ///< SASL EXTERNAL: `tls_cert` proves our identity
  std::vector<std::string> channels;    ///< joined and rejoined; everybody there may speak to it
  /// Services accounts that may speak to it directly, as the network reports them (`account-tag`); "*" = all.
  std::vector<std::string> users;
  std::map<std::string, std::string> keys; ///< of channels that need one
  bool only_addressed = true;              ///< in channels: ignores messages not addressed to the bot, except cancels

  milliseconds pace{2000};       ///< interval between lines
  unsigned burst = 5;            ///< lines at once after a rest
  milliseconds silence{180'000}; ///< after this long without an answer, also to a PING, the server counts as gone
  milliseconds rejoin{5'000};    ///< first wait before a channel is retried; doubles up to `retry_most`
  milliseconds retry_first{1'000};
  milliseconds retry_most{300'000};

  /// True if the text is a cancel, by the configured words; such lines are never dropped. Any thread.
  std::function<bool(std::string_view text, const std::vector<std::string>& bot_names)> is_cancel;
  /// Gets a sentence for the log at each change of state. Can be empty.
  std::function<void(const std::string&)> log;
  /// Storage over restarts. Both functions empty: nothing is remembered.
  integrations::chat::memory memory;
};

} // namespace quell::integrations::chat
