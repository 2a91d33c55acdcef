// Requests to Telegram: posts, edits, reactions.
#include "integrations/chat/telegram/write.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <nlohmann/json.hpp>

#include "integrations/chat/scope_text.hpp"
#include "integrations/chat/telegram/read.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations::chat::telegram {
namespace {

using nlohmann::json;

constexpr std::size_t most_units = 4096; ///< UTF-16, of one message

std::string text_of(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

std::optional<std::int64_t> number(const std::string& text) {
  std::int64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (text.empty() || read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

json buttons_of(const action& a) {
  if (a.asks && a.asks->is_open)
    return json::array({{{"text", "Approve"}, {"callback_data", "approve:" + a.asks->call.text()}},
                        {{"text", "Deny"}, {"callback_data", "deny:" + a.asks->call.text()}}});
  if (!a.asks && a.turn && a.is_live)
    return json::array({{{"text", "🛑 Stop"}, {"callback_data", "stop:" + a.turn->text()}}});
  return json::array();
}

} // namespace

destination destination_of(const scope_path& scope) {
  const auto texts = texts_of(scope);
  if (!texts || texts->size() < 2 || !number((*texts)[1])) return {};
  destination to{(*texts)[1], texts->size() > 2 ? (*texts)[2] : ""};
  if (!to.topic.empty() && !number(to.topic)) return {};
  return to;
}

web_request call(const telegram_settings& s, const std::string& method, std::string json_body) {
  web_request r;
  r.url = s.base_url + "/bot" + s.token + "/" + method;
  r.headers = {"Content-Type: application/json"};
  r.body = std::move(json_body);
  r.timeout = s.timeout;
  r.ca_file = s.ca_file;
  return r;
}

web_request file_question(const telegram_settings& s, const offered_file& file) {
  return call(s, "getFile", text_of({{"file_id", file.place}}));
}

result<web_request> file_request(const telegram_settings& s, const web_response& answer) {
  if (answer.what != web_end::answered)
    return failure("not_fetched", "it could not be fetched: Telegram does not answer");
  const auto path = read_file_path(answer.body);
  if (!path) return failure("not_fetched", "it could not be fetched: " + without(path.error().detail, s.token));
  web_request r;
  r.method = "GET";
  r.url = s.base_url + "/file/bot" + s.token + "/" + *path;
  r.ca_file = s.ca_file;
  return r;
}

web_request request_of(const telegram_settings& s, const action& a) {
  const auto to = destination_of(a.place);
  if (to.chat.empty()) return {};
  json body = {{"chat_id", *number(to.chat)}};
  const auto about = number(a.message);
  if (a.what != action_kind::post && !about) return {};
  if (a.what == action_kind::remove || a.what == action_kind::unreact) {
    body["message_id"] = *about;
    if (a.what == action_kind::unreact) body["reaction"] = json::array();
    return call(s, a.what == action_kind::remove ? "deleteMessage" : "setMessageReaction", text_of(body));
  }
  if (a.what == action_kind::react) {
    // A bot may only use the reactions that Telegram lists, which include no stop sign.
    // A bot may set only a few reactions per message; a later one replaces an earlier one.
    const std::string shown = a.text.starts_with("🛑") ? "👌" : a.text.starts_with("✅") ? "👍" : a.text;
    body["message_id"] = *about;
    body["reaction"] = json::array({{{"type", "emoji"}, {"emoji", shown}}});
    return call(s, "setMessageReaction", text_of(body));
  }
  body["text"] = a.text;
  body["link_preview_options"] = {{"is_disabled", true}};
  if (a.what == action_kind::edit) {
    body["message_id"] = *about;
  } else {
    if (!to.topic.empty()) body["message_thread_id"] = *number(to.topic);
    if (const auto answered = number(a.reply_to))
      body["reply_parameters"] = {{"message_id", *answered}, {"allow_sending_without_reply", true}};
  }
  // An edit without this field removes the buttons, as intended for a reply that is over.
  if (auto buttons = s.buttons ? buttons_of(a) : json::array(); !buttons.empty())
    body["reply_markup"] = {{"inline_keyboard", json::array({std::move(buttons)})}};
  return call(s, a.what == action_kind::edit ? "editMessageText" : "sendMessage", text_of(body));
}

milliseconds retry_after_of(const web_response& r) {
  const auto answer = json::parse(r.body, nullptr, false);
  if (answer.is_object() && answer.contains("parameters") && answer["parameters"].is_object()) {
    const auto& parameters = answer["parameters"];
    if (const auto found = parameters.find("retry_after"); found != parameters.end() && found->is_number_integer())
      return std::chrono::seconds{std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, 3600)};
  }
  return r.retry_after();
}

std::string trouble_of(const web_response& r) {
  if (r.what != web_end::answered) return r.error;
  const auto answer = json::parse(r.body, nullptr, false);
  if (!answer.is_object()) return "status " + std::to_string(r.status) + " without a JSON object";
  if (answer.value("ok", json(false)) == true) return {};
  const auto found = answer.find("description");
  return found != answer.end() && found->is_string() ? found->get<std::string>().substr(0, 200)
                                                     : "status " + std::to_string(r.status);
}

done_how outcome_of(const action& a, const web_response& r, std::string& error) {
  error = trouble_of(r);
  if (r.what == web_end::not_sent) return {outcome::not_sent};
  if (r.what == web_end::unknown) return {outcome::unknown};
  if (r.status == 429) return {outcome::later, {}, retry_after_of(r)};
  if (error.empty()) {
    const auto answer = json::parse(r.body, nullptr, false);
    done_how how{outcome::sent, a.message};
    if (a.what == action_kind::post && answer.contains("result") && answer["result"].is_object())
      if (const auto id = answer["result"].find("message_id"); id != answer["result"].end() && id->is_number_integer())
        how.message = std::to_string(id->get<std::int64_t>());
    return how;
  }
  if (error.find("message is not modified") != std::string::npos) {
    error.clear();
    return {outcome::sent, a.message};
  }
  if (r.status == 503 || r.status == 401 || r.status == 404) return {outcome::not_sent}; // not processed
  if (r.status >= 500 || r.status < 400) return {outcome::unknown};
  return {outcome::refused};
}

outbox_rules rules_of(const telegram_settings& s) {
  outbox_rules r;
  r.unit = length_unit::utf16;
  r.most_length = most_units;
  r.can_edit = r.can_react = r.can_take_back = true;
  r.shows_place = s.shows_place;
  r.has_buttons = s.buttons;
  r.has_fences = true;
  r.fences_name_language = false;
  r.edit_every = s.edit_every;
  r.pace_of = [alone = pace{s.pace, s.burst}, group = pace{s.group_pace, s.burst}](const scope_path& place) {
    return destination_of(place).chat.starts_with('-') ? group : alone;
  };
  r.of_all = {milliseconds{34}, 15}; // 30 per second over all chats
  return r;
}

} // namespace quell::integrations::chat::telegram
