// Reads Telegram's updates defensively.
#include "integrations/chat/telegram/read.hpp"

#include <algorithm>

#include <optional>

#include <nlohmann/json.hpp>

#include "integrations/chat/addressing.hpp"
#include "integrations/chat/attached.hpp"
#include "integrations/chat/json_text.hpp"
#include "protocol/blanks.hpp"
namespace quell::integrations::chat::telegram {
namespace {

using nlohmann::json;

constexpr std::size_t most_updates = 1000;

std::int64_t number_of(const json& from, const char* name) {
  const auto found = from.find(name);
  return found != from.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::string id_text(const json& from, const char* name) {
  const auto id = number_of(from, name);
  return id == 0 ? "" : std::to_string(id);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

std::string name_of(const json& user) {
  auto name = text_of(user, "first_name");
  if (const auto last = text_of(user, "last_name"); !last.empty()) name += (name.empty() ? "" : " ") + last;
  return name.empty() ? text_of(user, "username") : name;
}

/// `/stop@our_bot now`: true if it is for us; then the text is what a person would have written.
bool take_command(message& m, const self& me) {
  if (m.text.size() < 2 || m.text[0] != '/') return true;
  const auto end = std::min(m.text.find_first_of(" \t\r\n"), m.text.size());
  auto name = m.text.substr(1, end - 1);
  const auto at = name.find('@');
  if (at != std::string::npos) {
    if (lower(name.substr(at + 1)) != lower(me.username)) return false;
    name.resize(at);
  }
  if (name.empty() ||
      name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
    return true; // a path, not a command
  m.command = lower(name);
  const std::string rest(trimmed(std::string_view(m.text).substr(end)));
  m.text = m.command == "stop" ? "stop" : m.command == "ask" ? rest : m.command + (rest.empty() ? "" : " " + rest);
  m.is_addressed = true;
  return true;
}

/// `@our_bot stop` is `stop` addressed to us; a mention elsewhere stays in place.
void take_mention(message& m, const self& me) {
  if (me.username.empty()) return;
  const auto mention = "@" + lower(me.username);
  const auto whole = lower(m.text);
  for (std::size_t at = 0; (at = whole.find(mention, at)) != std::string::npos; at += mention.size()) {
    const auto end = at + mention.size();
    const bool ends =
        end == whole.size() || (!std::isalnum(static_cast<unsigned char>(whole[end])) && whole[end] != '_');
    if (!ends) continue;
    m.is_addressed = true;
    if (at == 0) {
      m.text = std::string(behind_name(std::string_view(m.text).substr(end)));
    } else if (end == whole.size()) {
      m.text = std::string(trimmed(std::string_view(m.text).substr(0, at)));
    }
    return;
  }
}

void attach_one(const json& from, const char* kind, std::string& to) {
  const auto& file = member(from, kind);
  if (file.empty()) return;
  const auto bytes = number_of(file, "file_size");
  const auto name = text_of(file, "file_name");
  attach(to, attached_file(name.empty() ? std::string_view(kind) : std::string_view(name), text_of(file, "mime_type"),
                           bytes > 0 ? std::optional(static_cast<std::uint64_t>(bytes)) : std::nullopt, ""));
}

/// Attachments without an address: that of a file contains the bot's token.
std::string attachments_of(const json& from) {
  std::string all;
  for (const char* kind : {"document", "video", "audio", "voice", "video_note", "animation"})
    if (std::string_view(kind) != "document" || !from.contains("animation")) attach_one(from, kind, all);
  if (const auto photo = from.find("photo"); photo != from.end() && photo->is_array() && !photo->empty())
    attach(all, attached_thing("photo", ""));
  if (const auto& sticker = member(from, "sticker"); !sticker.empty())
    attach(all, attached_thing("sticker", text_of(sticker, "emoji")));
  if (const auto& poll = member(from, "poll"); !poll.empty())
    attach(all, attached_thing("poll", text_of(poll, "question")));
  if (const auto& contact = member(from, "contact"); !contact.empty())
    attach(all, attached_thing("contact", text_of(contact, "first_name")));
  if (from.contains("location")) attach(all, attached_thing("location", ""));
  if (const auto& origin = member(from, "forward_origin"); !origin.empty()) {
    auto who = name_of(member(origin, "sender_user"));
    if (who.empty()) who = text_of(origin, "sender_user_name");
    if (who.empty()) who = text_of(member(origin, "chat"), "title");
    attach(all, forwarded(who, "")); // its text is already the message's text
  }
  return all;
}

/// A photo comes in several sizes, the largest last.
std::vector<offered_file> offered_by(const json& from) {
  std::vector<offered_file> all;
  const auto offer = [&](const json& file, std::string name, std::string type) {
    const auto bytes = number_of(file, "file_size");
    if (text_of(file, "file_id").empty()) return;
    all.push_back({std::move(name), std::move(type),
                   bytes > 0 ? std::optional(static_cast<std::uint64_t>(bytes)) : std::nullopt,
                   text_of(file, "file_id")});
  };
  if (const auto photo = from.find("photo");
      photo != from.end() && photo->is_array() && !photo->empty() && photo->back().is_object())
    offer(photo->back(), "photo.jpg", "image/jpeg");
  if (const auto& file = member(from, "document"); !file.empty() && !from.contains("animation"))
    offer(file, text_of(file, "file_name"), text_of(file, "mime_type"));
  return all;
}

std::variant<nothing, message, pressed> read_message(const json& from, const self& me) {
  const auto& user = member(from, "from");
  if (user.empty() || user.value("is_bot", json(false)) == true) return nothing{};
  message m;
  m.chat = id_text(member(from, "chat"), "id");
  m.id = id_text(from, "message_id");
  m.user = id_text(user, "id");
  m.user_name = name_of(user);
  if (from.value("is_topic_message", json(false)) == true) m.topic = id_text(from, "message_thread_id");
  m.text = trimmed(text_of(from, "text"));
  if (m.text.empty()) m.text = trimmed(text_of(from, "caption"));
  m.attached = attachments_of(from);
  m.files = offered_by(from);
  m.stamp = id_text(from, "edit_date");
  if (m.chat.empty() || m.id.empty() || m.user.empty() || (m.text.empty() && m.attached.empty())) return nothing{};
  m.is_private = text_of(member(from, "chat"), "type") == "private";
  const auto& answered = member(from, "reply_to_message");
  const auto& whom = member(answered, "from");
  m.is_addressed = m.is_private || (me.id != 0 && number_of(whom, "id") == me.id);
  // Each message of a topic "answers" the message that opened it.
  const bool opens_topic = !m.topic.empty() && id_text(answered, "message_id") == m.topic;
  const auto id = id_text(whom, "id");
  m.answers_others = !id.empty() && !opens_topic && number_of(whom, "id") != me.id && id != m.user;
  if (!take_command(m, me)) return nothing{};
  if (m.command.empty()) take_mention(m, me);
  return m;
}

update read_one(const json& from, const self& me) {
  update u;
  u.id = number_of(from, "update_id");
  if (const auto& edited = member(from, "edited_message"); !edited.empty()) {
    u.what = read_message(edited, me);
    if (const auto* m = std::get_if<message>(&u.what); m && m->stamp.empty()) u.what = nothing{};
  }
  if (const auto& message_json = member(from, "message"); !message_json.empty())
    u.what = read_message(message_json, me);
  if (const auto& query = member(from, "callback_query"); !query.empty()) {
    pressed p;
    p.query = text_of(query, "id");
    p.data = text_of(query, "data");
    p.user = id_text(member(query, "from"), "id");
    p.user_name = name_of(member(query, "from"));
    const auto& below = member(query, "message");
    p.chat = id_text(member(below, "chat"), "id");
    if (below.value("is_topic_message", json(false)) == true) p.topic = id_text(below, "message_thread_id");
    if (!p.query.empty() && !p.chat.empty() && !p.user.empty()) u.what = std::move(p);
  }
  return u;
}

/// The member `result` of a successful answer.
result<json> good(std::string_view text) {
  auto answer = json::parse(text, nullptr, false);
  if (!answer.is_object()) return failure(error_code::bad_request, "the answer is not a JSON object");
  if (answer.value("ok", json(false)) != true)
    return failure(error_code::bad_request, "Telegram says: " + text_of(answer, "description").substr(0, 200));
  return answer.contains("result") ? answer["result"] : json();
}

} // namespace

result<update> read_update(std::string_view json_text, const self& me) {
  const auto one = json::parse(json_text, nullptr, false);
  if (!one.is_object() || number_of(one, "update_id") == 0)
    return failure(error_code::bad_request, "the body is not an update");
  return read_one(one, me);
}

result<std::vector<update>> read_updates(std::string_view json_text, const self& me) {
  const auto list = good(json_text);
  if (!list) return tl::unexpected(list.error());
  if (!list->is_array() || list->size() > most_updates)
    return failure(error_code::bad_request, "the answer has no updates");
  std::vector<update> all;
  for (const auto& one : *list)
    if (one.is_object() && number_of(one, "update_id") != 0) all.push_back(read_one(one, me));
  return all;
}

result<std::string> read_file_path(std::string_view json_text) {
  constexpr std::size_t most = 512;
  const auto file = good(json_text);
  if (!file) return tl::unexpected(file.error());
  const auto path = file->is_object() ? text_of(*file, "file_path") : std::string();
  const bool is_plain =
      !path.empty() && path.size() <= most && path.front() != '/' && path.find("..") == std::string::npos &&
      std::all_of(path.begin(), path.end(),
                  [](unsigned char c) { return std::isalnum(c) || c == '/' || c == '.' || c == '_' || c == '-'; });
  if (!is_plain) return failure(error_code::bad_request, "Telegram says not where the file is");
  return path;
}

result<self> read_self(std::string_view json_text) {
  const auto me = good(json_text);
  if (!me) return tl::unexpected(me.error());
  if (!me->is_object() || number_of(*me, "id") == 0) return failure(error_code::bad_request, "getMe says nobody");
  return self{number_of(*me, "id"), text_of(*me, "username"), text_of(*me, "first_name")};
}

} // namespace quell::integrations::chat::telegram
