// [slack]: settings of a Slack app.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/chat/change_rules.hpp"
#include "integrations/chat/chat.hpp"
#include "protocol/time.hpp"

namespace quell::integrations::chat {

/// `bot_token` and `signing_secret` are secrets: never logged or shown.
struct slack_settings {
  std::string bot_token;      ///< xoxb-…
  std::string signing_secret; ///< of the app; signs Slack's requests
  std::string base_url = "https://slack.com/api";
  /// Where the files of messages may be fetched from, with the bot's token; empty: they are not fetched.
  std::vector<std::string> file_urls{"https://files.slack.com"};
  std::string ca_file;                        ///< PEM of authorities; "": the system's
  std::vector<std::string> teams;             ///< workspaces where everybody may speak to it; "*" = all
  std::vector<std::string> users;             ///< people who may in every workspace; "*" = all
  std::vector<std::string> commands{"/stop"}; ///< slash commands that stop the channel; any other is a message
  bool only_addressed = true;    ///< in channels: ignores messages not addressed to the bot, except cancels
  bool in_threads = true;        ///< replies go into the message's thread, and each thread is a scope of its own
  bool buttons = true;           ///< a Stop button below a reply, Approve and Deny below a question
  milliseconds edit_every{1200}; ///< minimum interval between edits of one message
  milliseconds pace{1100};       ///< interval between requests in one channel …
  unsigned burst = 4;            ///< … after so many at once
  milliseconds timeout{20'000};  ///< of one request to Slack
  bool shows_place = false;      ///< who waits behind several turns reads their number
  change_rules changes;          ///< what edits and deletions of requests do

  /// True if the text is a cancel, by the configured words; such messages are never dropped. Any thread.
  std::function<bool(std::string_view text, const std::vector<std::string>& bot_names)> is_cancel;
  /// Gets a sentence for the log at each change of state. Can be empty.
  std::function<void(const std::string&)> log;
  /// Storage over restarts. Both functions empty: nothing is remembered.
  integrations::chat::memory memory;
};

} // namespace quell::integrations::chat
