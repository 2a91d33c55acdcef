// Requests to Slack: posts, edits, reactions.
#include "integrations/chat/slack/write.hpp"

#include <nlohmann/json.hpp>

#include "integrations/chat/scope_text.hpp"
#include "integrations/chat/slack/found_post.hpp"
#include "integrations/chat/web_files.hpp"

namespace quell::integrations::chat::slack {
namespace {

using nlohmann::json;

constexpr std::size_t most_section = 3000; ///< characters of a section block, including escapes

std::string json_line(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

json button(const char* text, const char* id, const std::string& value, const char* style) {
  json b = {
      {"type", "button"}, {"text", {{"type", "plain_text"}, {"text", text}}}, {"action_id", id}, {"value", value}};
  if (style) b["style"] = style;
  return b;
}

/// The buttons of an action; empty = none.
json buttons_of(const action& a) {
  json all = json::array();
  if (a.asks && a.asks->is_open) {
    all.push_back(button("Approve", "quell_approve", a.asks->call.text(), "primary"));
    all.push_back(button("Deny", "quell_deny", a.asks->call.text(), "danger"));
  } else if (!a.asks && a.turn && a.is_live) {
    all.push_back(button("Stop", "quell_stop", a.turn->text(), "danger"));
  }
  return all;
}

/// Slack's names for the reactions that quell uses.
std::string reaction_name(std::string_view reaction) {
  if (reaction.starts_with("🛑")) return "octagonal_sign";
  if (reaction.starts_with("✅")) return "white_check_mark";
  if (reaction.starts_with("👍")) return "+1";
  if (reaction.starts_with("👀")) return "eyes";
  return {};
}

} // namespace

std::string escaped(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '&')
      made += "&amp;";
    else if (c == '<')
      made += "&lt;";
    else if (c == '>')
      made += "&gt;";
    else
      made += c;
  }
  return made;
}

destination destination_of(const scope_path& scope) {
  const auto texts = texts_of(scope);
  if (!texts || texts->size() < 3) return {};
  return {(*texts)[2], texts->size() > 3 ? (*texts)[3] : ""};
}

web_request call(const slack_settings& s, const char* method, std::string json_body) {
  web_request r;
  r.url = s.base_url + "/" + method;
  r.headers = {"Authorization: Bearer " + s.bot_token, "Content-Type: application/json; charset=utf-8"};
  r.body = std::move(json_body);
  r.timeout = s.timeout;
  r.ca_file = s.ca_file;
  return r;
}

web_request form_call(const slack_settings& s, const char* method, std::string form) {
  auto r = call(s, method, std::move(form));
  r.headers.back() = "Content-Type: application/x-www-form-urlencoded";
  return r;
}

result<web_request> file_request(const slack_settings& s, const offered_file& file) {
  if (!is_at_origin(file.place, s.file_urls)) return failure("not_fetched", "it is not kept by Slack");
  web_request r;
  r.method = "GET";
  r.url = file.place;
  r.headers = {"Authorization: Bearer " + s.bot_token};
  r.ca_file = s.ca_file;
  return r;
}

web_request request_of(const slack_settings& s, const action& a, const std::string& nonce) {
  const auto to = destination_of(a.place);
  if (to.channel.empty()) return {};
  if (a.what == action_kind::find) return find_request(s, to);
  if (a.what == action_kind::remove)
    return call(s, "chat.delete", json_line({{"channel", to.channel}, {"ts", a.message}}));
  if (a.what == action_kind::react || a.what == action_kind::unreact) {
    const auto name = reaction_name(a.text);
    if (name.empty()) return {};
    return call(s, a.what == action_kind::react ? "reactions.add" : "reactions.remove",
                json_line({{"channel", to.channel}, {"timestamp", a.message}, {"name", name}}));
  }
  const auto text = escaped(a.text);
  json body = {{"channel", to.channel}, {"text", text}};
  if (a.what == action_kind::edit) {
    body["ts"] = a.message;
  } else {
    if (!to.thread.empty()) body["thread_ts"] = to.thread;
    body["unfurl_links"] = false;
    body["unfurl_media"] = false;
    body["metadata"] = mark_of_post(post_key(nonce, a.key));
  }
  json buttons = s.buttons ? buttons_of(a) : json::array();
  if (!buttons.empty() && length_of(text, length_unit::characters) <= most_section)
    body["blocks"] = json::array({{{"type", "section"}, {"text", {{"type", "mrkdwn"}, {"text", text}}}},
                                  {{"type", "actions"}, {"elements", std::move(buttons)}}});
  else if (a.what == action_kind::edit)
    body["blocks"] = json::array(); // otherwise the old blocks, with their buttons, would stay
  return call(s, a.what == action_kind::edit ? "chat.update" : "chat.postMessage", json_line(body));
}

done_how outcome_of(const action& a, const web_response& r, std::string& error) {
  if (r.what == web_end::not_sent || r.what == web_end::unknown) {
    error = r.error;
    return {r.what == web_end::not_sent ? outcome::not_sent : outcome::unknown};
  }
  if (r.status == 429) {
    error = "rate limited";
    return {outcome::later, {}, r.retry_after(), true};
  }
  if (r.status != 200) {
    error = "status " + std::to_string(r.status);
    // 503 "Service unavailable" means that nothing was done; after other server errors the outcome is unknown.
    return {r.status == 503 ? outcome::not_sent : r.status >= 500 ? outcome::unknown : outcome::refused};
  }
  const auto answer = json::parse(r.body, nullptr, false);
  if (!answer.is_object()) {
    error = "an answer that is not a JSON object";
    return {outcome::unknown};
  }
  const auto found = answer.find("error");
  if (answer.value("ok", json(false)) == true) {
    const auto ts = answer.find("ts");
    return {outcome::sent, ts != answer.end() && ts->is_string() ? ts->get<std::string>() : a.message};
  }
  error = found != answer.end() && found->is_string() ? found->get<std::string>().substr(0, 100) : "no reason given";
  if (error == "already_reacted") return {outcome::sent, a.message};
  if (error == "ratelimited" || error == "rate_limited") return {outcome::later, {}, r.retry_after(), true};
  if (error == "internal_error" || error == "fatal_error" || error == "request_timeout") return {outcome::unknown};
  for (const auto* ours : {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired",
                           "missing_scope", "service_unavailable", "team_added_to_org", "accesslimited"})
    if (error == ours) return {outcome::not_sent};
  return {outcome::refused};
}

outbox_rules rules_of(const slack_settings& s) {
  outbox_rules r;
  r.unit = length_unit::characters;
  r.most_length = s.buttons ? most_section - 100 : 3900;
  r.can_edit = r.can_react = r.can_take_back = true;
  r.posts_are_found = true; // by their metadata
  r.shows_place = s.shows_place;
  r.has_buttons = s.buttons;
  r.has_fences = true;
  r.fences_name_language = false;
  r.edit_every = s.edit_every;
  r.of_place = {s.pace, s.burst};
  return r;
}

} // namespace quell::integrations::chat::slack
