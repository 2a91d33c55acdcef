// Messages of a Slack channel from while we were offline: the queries, and the meaning of the answers. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "integrations/chat/slack/read.hpp"
#include "integrations/chat/slack/settings.hpp"
#include "integrations/chat/web.hpp"

namespace quell::integrations::chat::slack {

/// A query for one page.
struct history_question {
  std::string team, channel;
  std::string thread; ///< "" = the channel itself
  std::string after;  ///< ts; only later messages are meant
  std::string cursor{};
};
web_request request_of(const slack_settings& s, const history_question& q);

struct history_answer {
  enum class end : std::uint8_t { good, later, gone, refused } what = end::good;
  std::string error;              ///< for display, unless good
  milliseconds wait{0};           ///< of `later`: as Slack asks
  std::vector<message> messages;  ///< by people
  std::vector<std::string> below; ///< ts of messages that have a thread
  std::string cursor;             ///< of the next page; "" = this is the last one
};
/// `bot_user`: our own user id, whose messages are left out.
history_answer read_history(const web_response& r, const history_question& q, const std::string& bot_user);

/// Slack asks for patience. `error`: the code in its answer, "" = none.
bool is_limited(const web_response& r, std::string_view error);
/// The same question can be answered later.
bool is_passing(const web_response& r, std::string_view error);

/// The ts of an instant: `1732271913.000000`.
std::string ts_of(std::int64_t seconds);

} // namespace quell::integrations::chat::slack
