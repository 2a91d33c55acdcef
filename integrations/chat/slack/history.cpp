// conversations.history and conversations.replies.
#include "integrations/chat/slack/history.hpp"

#include <nlohmann/json.hpp>

#include "integrations/chat/json_text.hpp"
#include "integrations/chat/slack/write.hpp"

namespace quell::integrations::chat::slack {
namespace {

using nlohmann::json;

constexpr int page = 100;

/// The message in the form of an event: the list leaves out the members that all messages share.
std::string as_event(const json& one, const history_question& q) {
  json e = one;
  e["type"] = "message";
  e["channel"] = q.channel;
  if (q.channel.starts_with("D")) e["channel_type"] = "im";
  return json{{"type", "event_callback"}, {"team_id", q.team}, {"event", std::move(e)}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

} // namespace

bool is_limited(const web_response& r, std::string_view error) {
  return r.status == 429 || error == "ratelimited" || error == "rate_limited";
}

bool is_passing(const web_response& r, std::string_view error) {
  return is_limited(r, error) || r.what != web_end::answered || r.status >= 500 || error == "internal_error" ||
         error == "fatal_error" || error == "service_unavailable" || error == "request_timeout";
}

std::string ts_of(std::int64_t seconds) { return std::to_string(seconds) + ".000000"; }

web_request request_of(const slack_settings& s, const history_question& q) {
  auto form = "channel=" + form_encoded(q.channel) + "&oldest=" + form_encoded(q.after) +
              "&limit=" + std::to_string(page) + "&inclusive=false";
  if (!q.thread.empty()) form += "&ts=" + form_encoded(q.thread);
  if (!q.cursor.empty()) form += "&cursor=" + form_encoded(q.cursor);
  return form_call(s, q.thread.empty() ? "conversations.history" : "conversations.replies", std::move(form));
}

history_answer read_history(const web_response& r, const history_question& q, const std::string& bot_user) {
  using end = history_answer::end;
  history_answer a;
  const auto body = json::parse(r.body, nullptr, false);
  a.error = r.what != web_end::answered ? r.error : text_of(body, "error").substr(0, 100);
  if (r.what == web_end::answered && r.status != 200 && a.error.empty()) a.error = "status " + std::to_string(r.status);
  if (is_passing(r, a.error)) {
    a.what = end::later;
    a.wait = r.retry_after();
    return a;
  }
  const auto list = body.is_object() ? body.find("messages") : body.end();
  if (!r.is_good() || !body.is_object() || body.value("ok", json(false)) != true || list == body.end() ||
      !list->is_array()) {
    if (a.error.empty()) a.error = "an answer without messages";
    a.what = a.error == "channel_not_found" || a.error == "not_in_channel" || a.error == "is_archived" ||
                     a.error == "thread_not_found"
                 ? end::gone
                 : end::refused;
    return a;
  }
  for (const auto& one : *list) {
    if (!one.is_object()) continue;
    const auto ts = text_of(one, "ts"), thread = text_of(one, "thread_ts");
    if (q.thread.empty() && !ts.empty() && thread == ts) a.below.push_back(ts);
    if (!q.thread.empty() && ts == q.thread) continue; // its first message, which belongs to the channel
    auto read = read_event(as_event(one, q), bot_user);
    if (!read || !std::holds_alternative<message>(*read)) continue;
    auto m = std::get<message>(std::move(*read));
    if (m.thread == m.ts) m.thread.clear();
    // Thread messages that were also sent to the channel come with their thread.
    if (q.thread.empty() && !m.thread.empty()) continue;
    if (m.what == message::news::posted) a.messages.push_back(std::move(m));
  }
  const auto more = body.find("response_metadata");
  if (more != body.end()) a.cursor = text_of(*more, "next_cursor");
  return a;
}

} // namespace quell::integrations::chat::slack
