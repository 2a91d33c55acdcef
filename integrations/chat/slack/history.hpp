// What was said in a channel of Slack while nobody listened: how it is asked for, and what the answers mean. Pure.
#pragma once

#include <string>
#include <vector>

#include "integrations/chat/slack/read.hpp"
#include "integrations/chat/slack/settings.hpp"
#include "integrations/chat/web.hpp"

namespace quell::integrations::chat::slack {

/// One page of it.
struct history_question {
  std::string team, channel;
  std::string thread; ///< "" = the channel itself
  std::string after;  ///< ts; what is said later is meant
  std::string cursor{};
};
web_request request_of(const slack_settings& s, const history_question& q);

struct history_answer {
  enum class end : std::uint8_t { good, later, gone, refused } what = end::good;
  std::string error;              ///< for people, unless good
  milliseconds wait{0};           ///< of `later`: as Slack says
  std::vector<message> said;      ///< by people
  std::vector<std::string> below; ///< ts of messages that have answers in a thread
  std::string cursor;             ///< of the next page; "" = the last one
};
/// `bot_user`: our own user id, whose messages are left out.
history_answer read_history(const web_response& r, const history_question& q, const std::string& bot_user);

/// The ts of an instant: `1732271913.000000`.
std::string ts_of(std::int64_t seconds);

} // namespace quell::integrations::chat::slack
