// What is to be known to sit on one IRC network.
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
  bool tls = true; ///< false only by explicit option: everything, passwords too, travels in the clear
  std::string tls_ca, tls_cert, tls_key;

  std::string network; ///< second segment of its scopes; "": the host
  std::string nick = "quell";
  std::string real_name = "quell";
  std::string password;                 ///< the server's own (PASS); "": none
  std::string sasl_user, sasl_password; ///< SASL PLAIN, if the user is set
  bool sasl_external = false;           ///< SASL EXTERNAL: who we are is in `tls_cert`
  std::vector<std::string> channels;    ///< joined and joined again; everybody there may speak to it
  /// Who may speak to it directly: services accounts, as the network tells them (`account-tag`); "*" = all.
  std::vector<std::string> users;
  std::map<std::string, std::string> keys; ///< of channels that have one
  bool only_addressed = true; ///< in channels: what is not addressed to the bot is no message, cancels excepted

  milliseconds pace{2000};       ///< a line each so often
  unsigned burst = 5;            ///< lines at once after a rest
  milliseconds silence{180'000}; ///< a server that says nothing for so long, asked in between, is gone
  milliseconds rejoin{5'000};    ///< first wait before a channel is tried again; doubles up to `retry_most`
  milliseconds retry_first{1'000};
  milliseconds retry_most{300'000};

  /// True if the text is a cancel, by the configured words; such lines are never left out. Any thread.
  std::function<bool(std::string_view text, const std::vector<std::string>& bot_names)> is_cancel;
  /// A sentence for the log at each change of state. May be empty.
  std::function<void(const std::string&)> log;
  /// Over restarts. Both empty: nothing is remembered.
  integrations::chat::memory memory;
};

} // namespace quell::integrations::chat
