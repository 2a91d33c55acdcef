// Reads Slack's requests defensively: they are signed, but can contain anything that Slack ever sends.
#include "integrations/chat/slack/read.hpp"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "integrations/chat/addressing.hpp"
#include "integrations/chat/attached.hpp"
#include "integrations/chat/json_text.hpp"
#include "integrations/chat/web.hpp"
#include "protocol/blanks.hpp"

namespace quell::integrations::chat::slack {
namespace {

using nlohmann::json;

/// The first entry of a list of objects.
const json& first(const json& from, const char* name) {
  static const json none = json::object();
  const auto found = from.find(name);
  return found != from.end() && found->is_array() && !found->empty() && found->front().is_object() ? found->front()
                                                                                                   : none;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

/// `<…>`: a mention, a channel, a link.
std::string shown_entity(std::string_view inner, std::string_view bot_user, bool& mentions_bot) {
  const auto bar = inner.find('|');
  const auto target = inner.substr(0, bar);
  const auto label = bar == std::string_view::npos ? std::string_view{} : inner.substr(bar + 1);
  if (target.starts_with("@")) {
    if (!bot_user.empty() && target.substr(1) == bot_user) {
      mentions_bot = true;
      return {};
    }
    return "@" + std::string(label.empty() ? target.substr(1) : label);
  }
  if (target.starts_with("#")) return "#" + std::string(label.empty() ? target.substr(1) : label);
  if (target.starts_with("!")) return "@" + std::string(label.empty() ? target.substr(1) : label);
  if (label.empty() || label == target) return std::string(target);
  return std::string(label) + " (" + std::string(target) + ")";
}

/// An edit or a deletion contains the message that it concerns: `e` is replaced by that message.
message::news unwrap(json& e) {
  const auto subtype = text_of(e, "subtype");
  const bool is_edit = subtype == "message_changed", is_deletion = subtype == "message_deleted";
  if (!is_edit && !is_deletion) return message::news::posted;
  json inner = member(e, is_edit ? "message" : "previous_message");
  for (const char* key : {"channel", "channel_type"})
    if (const auto value = text_of(e, key); !value.empty()) inner[key] = value;
  inner["type"] = "message";
  if (is_deletion && text_of(inner, "ts").empty()) inner["ts"] = text_of(e, "deleted_ts");
  e = std::move(inner);
  return is_edit ? message::news::edited : message::news::deleted;
}

std::vector<offered_file> offered_by(const json& e) {
  constexpr std::size_t most = 20;
  std::vector<offered_file> all;
  const auto list = e.find("files");
  if (list == e.end() || !list->is_array()) return all;
  for (std::size_t i = 0; i < std::min(list->size(), most); ++i) {
    const auto& f = (*list)[i];
    if (!f.is_object() || text_of(f, "url_private").empty()) continue; // deleted, or shared from elsewhere
    const auto size = f.find("size");
    all.push_back(
        {text_of(f, "name"), text_of(f, "mimetype"),
         size != f.end() && size->is_number_unsigned() ? std::optional(size->get<std::uint64_t>()) : std::nullopt,
         text_of(f, "url_private")});
  }
  return all;
}

std::string attachments_of(const json& e) {
  constexpr std::size_t most = 20;
  std::string all;
  const auto each = [&](const char* name, auto then) {
    const auto list = e.find(name);
    if (list == e.end() || !list->is_array()) return;
    for (std::size_t i = 0; i < std::min(list->size(), most); ++i)
      if ((*list)[i].is_object()) then((*list)[i]);
  };
  each("files", [&](const json& f) {
    const auto size = f.find("size");
    const auto url = text_of(f, "permalink");
    attach(all, attached_file(text_of(f, "name"), text_of(f, "mimetype"),
                              size != f.end() && size->is_number_unsigned() ? std::optional(size->get<std::uint64_t>())
                                                                            : std::nullopt,
                              url.empty() ? text_of(f, "url_private") : url));
  });
  each("attachments", [&](const json& a) {
    if (a.value("is_share", json(false)) == true || a.value("is_msg_unfurl", json(false)) == true)
      attach(all, forwarded(text_of(a, "author_name"), text_of(a, "text")));
  });
  return all;
}

tl::unexpected<fault> bad(const std::string& what) { return failure(error_code::bad_request, what); }

} // namespace

std::string readable(std::string_view text, std::string_view bot_user, bool& mentions_bot) {
  std::string shown;
  bool begins_with_us = false;
  while (!text.empty()) {
    const auto open = text.find('<');
    const auto close = open == std::string_view::npos ? open : text.find('>', open);
    if (close == std::string_view::npos) {
      shown += text;
      break;
    }
    shown += text.substr(0, open);
    const bool is_first = !mentions_bot && trimmed(shown).empty();
    shown += shown_entity(text.substr(open + 1, close - open - 1), bot_user, mentions_bot);
    begins_with_us = begins_with_us || (is_first && mentions_bot);
    text.remove_prefix(close + 1);
  }
  // Signs come by name.
  replace_all(shown, ":octagonal_sign:", "\U0001F6D1");
  replace_all(shown, ":black_square_for_stop:", "\u23F9");
  replace_all(shown, "&lt;", "<");
  replace_all(shown, "&gt;", ">");
  replace_all(shown, "&amp;", "&");
  return std::string(begins_with_us ? behind_name(shown) : trimmed(shown));
}

result<event_body> read_event(std::string_view body, std::string_view bot_user) {
  const auto whole = json::parse(body, nullptr, false);
  if (!whole.is_object()) return bad("the body is not a JSON object");
  const auto type = text_of(whole, "type");
  if (type == "url_verification") return challenge{text_of(whole, "challenge")};
  if (type != "event_callback") return nothing{};
  auto e = member(whole, "event");
  const auto kind = text_of(e, "type");
  if (kind == "channel_deleted" || kind == "channel_archive" || kind == "group_deleted" || kind == "group_archive")
    return channel_end{text_of(whole, "team_id"), text_of(e, "channel"),
                       kind.ends_with("deleted") ? "its channel was deleted" : "its channel was archived"};
  const auto news = unwrap(e);
  const auto subtype = text_of(e, "subtype");
  if (kind != "message" && kind != "app_mention") return nothing{};
  if (!subtype.empty() && subtype != "file_share" && subtype != "thread_broadcast" && subtype != "me_message")
    return nothing{};
  if (!text_of(e, "bot_id").empty() || !text_of(e, "app_id").empty() || e.contains("bot_profile")) return nothing{};
  std::string own(bot_user);
  const auto& authorized = first(whole, "authorizations");
  if (authorized.contains("is_bot") && authorized["is_bot"] == true && !text_of(authorized, "user_id").empty())
    own = text_of(authorized, "user_id");
  message m;
  m.team = text_of(whole, "team_id");
  if (m.team.empty()) m.team = text_of(e, "team");
  m.channel = text_of(e, "channel");
  m.ts = text_of(e, "ts");
  m.what = news;
  if (news == message::news::edited) m.stamp = text_of(member(e, "edited"), "ts");
  if (news == message::news::edited && m.stamp.empty()) return nothing{}; // only a preview was added
  m.thread = text_of(e, "thread_ts");
  m.user = text_of(e, "user");
  if (m.user.empty() || m.user == own) return nothing{};
  if (m.team.empty() || m.channel.empty() || m.ts.empty()) return bad("the message has no team, channel or ts");
  m.is_direct = text_of(e, "channel_type") == "im" || (kind == "message" && m.channel.starts_with("D"));
  bool mentions = false;
  m.text = readable(text_of(e, "text"), own, mentions);
  m.attached = attachments_of(e);
  m.files = offered_by(e);
  m.is_addressed = m.is_direct || mentions || kind == "app_mention";
  return m;
}

result<command> read_command(std::string_view body) {
  command c;
  std::string channel_name;
  for (auto& [name, value] : form_fields(body)) {
    if (name == "team_id") c.team = value;
    if (name == "channel_id") c.channel = value;
    if (name == "channel_name") channel_name = value;
    if (name == "command") c.name = value;
    if (name == "text") c.text = trimmed(value);
    if (name == "user_id") c.user = value;
    if (name == "user_name") c.user_name = value;
    if (name == "trigger_id") c.trigger = value;
  }
  if (c.team.empty() || c.channel.empty() || c.name.empty() || c.user.empty())
    return bad("the command has no team_id, channel_id, command or user_id");
  c.is_direct = channel_name == "directmessage" || c.channel.starts_with("D");
  return c;
}

result<pressed> read_action(std::string_view body) {
  json payload;
  for (const auto& [name, value] : form_fields(body))
    if (name == "payload") payload = json::parse(value, nullptr, false);
  if (!payload.is_object()) return bad("the form has no JSON object as its payload");
  pressed p;
  if (text_of(payload, "type") != "block_actions") return p;
  const auto& one = first(payload, "actions");
  p.kind = text_of(one, "action_id");
  p.value = text_of(one, "value");
  p.user = text_of(member(payload, "user"), "id");
  p.user_name = text_of(member(payload, "user"), "username");
  if (p.user_name.empty()) p.user_name = text_of(member(payload, "user"), "name");
  p.team = text_of(member(payload, "team"), "id");
  p.channel = text_of(member(payload, "channel"), "id");
  p.thread = text_of(member(payload, "message"), "thread_ts");
  p.ts = text_of(member(payload, "message"), "ts");
  if (p.kind != "quell_stop" && p.kind != "quell_approve" && p.kind != "quell_deny") p.kind.clear();
  if (p.team.empty() || p.channel.empty() || p.user.empty()) return bad("the payload has no team, channel or user");
  return p;
}

} // namespace quell::integrations::chat::slack
