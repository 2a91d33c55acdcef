// https://docs.slack.dev/messaging/message-metadata: a message's metadata is shown to who asks for all of it.
#include "integrations/chat/slack/found_post.hpp"

#include <nlohmann/json.hpp>

#include "integrations/chat/json_text.hpp"
#include "integrations/chat/slack/history.hpp"
#include "integrations/chat/web_files.hpp"

namespace quell::integrations::chat::slack {
namespace {

using nlohmann::json;

constexpr std::chrono::hours oldest_post{24};
constexpr int most_listed = 200; ///< Slack recommends no more
constexpr const char* kind_of_mark = "quell_post";

} // namespace

std::string post_key(const std::string& nonce, std::uint64_t number) { return nonce + "." + std::to_string(number); }

json mark_of_post(const std::string& key) { return {{"event_type", kind_of_mark}, {"event_payload", {{"key", key}}}}; }

web_request find_request(const slack_settings& s, const destination& where) {
  auto form =
      "channel=" + form_encoded(where.channel) + "&limit=" + std::to_string(most_listed) + "&include_all_metadata=true";
  if (!where.thread.empty()) {
    const auto since = std::chrono::system_clock::now().time_since_epoch() - oldest_post;
    form += "&ts=" + form_encoded(where.thread) +
            "&oldest=" + form_encoded(ts_of(std::chrono::duration_cast<std::chrono::seconds>(since).count()));
  }
  return form_call(s, where.thread.empty() ? "conversations.history" : "conversations.replies", std::move(form));
}

done_how found_post(const web_response& r, const destination& where, const std::string& key, const std::string& user) {
  const auto body = json::parse(r.body, nullptr, false);
  const auto error = text_of(body, "error");
  if (is_limited(r, error)) return {outcome::later, {}, r.retry_after(), false};
  if (is_passing(r, error)) return {outcome::not_sent};
  const auto& list = member_of(body, "messages");
  if (!r.is_good() || member_of(body, "ok") != true || !list.is_array()) return {outcome::refused};
  bool is_readable = true;
  for (const auto& one : list) {
    const bool is_own = user.empty() ? !text_of(one, "bot_id").empty() : text_of(one, "user") == user;
    if (!is_own) continue;
    const auto& mark = member_of(one, "metadata");
    const auto found_key = text_of(member_of(mark, "event_payload"), "key");
    if (text_of(mark, "event_type") == kind_of_mark && found_key == key) return {outcome::sent, text_of(one, "ts")};
    is_readable = is_readable && !found_key.empty();
  }
  // In a thread the oldest come first, so the post could be on a later page; in a channel the newest do.
  const bool has_more = !text_of(member_of(body, "response_metadata"), "next_cursor").empty();
  return {is_readable && !(has_more && !where.thread.empty()) ? outcome::absent : outcome::refused};
}

} // namespace quell::integrations::chat::slack
