// Converts JSON to values.
#include "integrations/chat/discord/read.hpp"

#include <algorithm>
#include <cctype>

#include "integrations/chat/addressing.hpp"
#include "integrations/chat/attached.hpp"
#include "integrations/chat/discord/json_access.hpp"
#include "protocol/blanks.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations::chat::discord {
namespace {

using nlohmann::json;

constexpr std::size_t most_name = 128, most_id = 20, most_token = 4096;
constexpr int ordinary_message = 0, reply_message = 19;
constexpr int ping = 1, command = 2, component = 3;
constexpr int chat_input = 1;

std::string snowflake_of(const json& object, const char* key) {
  auto text = text_of(object, key);
  return is_snowflake(text) ? text : std::string();
}

int number_of(const json& object, const char* key, int otherwise) {
  const auto& value = member_of(object, key);
  return value.is_number_integer() ? value.get<int>() : otherwise;
}

bool is_true(const json& object, const char* key) {
  const auto& value = member_of(object, key);
  return value.is_boolean() && value.get<bool>();
}

/// The name that people see here: the nickname on this server, else the display name, else the account's name.
person person_of(const json& user, const json& member) {
  person p;
  p.id = p.account = snowflake_of(user, "id");
  for (const auto& name : {text_of(member, "nick"), text_of(user, "global_name"), text_of(user, "username")})
    if (p.name.empty()) p.name = std::string(utf8_prefix(name, most_name));
  return p;
}

bool names(const json& list, std::string_view id) {
  return list.is_array() &&
         std::any_of(list.begin(), list.end(), [&](const json& one) { return text_of(one, "id") == id; });
}

/// The items of the list, up to the number that we read.
std::vector<json> list_of(const json& object, const char* key) {
  constexpr std::size_t most = 20;
  const auto& list = member_of(object, key);
  std::vector<json> all;
  if (list.is_array())
    for (std::size_t i = 0; i < std::min(list.size(), most); ++i) all.push_back(list[i]);
  return all;
}

void take_out(std::string& text, const std::string& what) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at)) text.erase(at, what.size());
}

/// It becomes part of a path: letters, digits, `.`, `_` and `-`.
bool is_token(std::string_view text) {
  return text.size() <= most_token && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

void attach_files(const json& message, std::string& to) {
  for (const auto& f : list_of(message, "attachments")) {
    const auto& size = member_of(f, "size");
    attach(to, attached_file(text_of(f, "filename"), text_of(f, "content_type"),
                             size.is_number_unsigned() ? std::optional(size.get<std::uint64_t>()) : std::nullopt,
                             text_of(f, "url")));
  }
  for (const auto& s : list_of(message, "sticker_items")) attach(to, attached_thing("sticker", text_of(s, "name")));
}

void offer_files(const json& message, std::vector<offered_file>& to) {
  for (const auto& f : list_of(message, "attachments")) {
    const auto& size = member_of(f, "size");
    to.push_back({text_of(f, "filename"), text_of(f, "content_type"),
                  size.is_number_unsigned() ? std::optional(size.get<std::uint64_t>()) : std::nullopt,
                  text_of(f, "url")});
  }
}

std::string attachments_of(const json& message) {
  std::string all;
  attach_files(message, all);
  if (const auto& poll = member_of(message, "poll"); poll.is_object())
    attach(all, attached_thing("poll", text_of(member_of(poll, "question"), "text")));
  for (const auto& snapshot : list_of(message, "message_snapshots")) {
    const auto& was = member_of(snapshot, "message");
    attach(all, forwarded("", text_of(was, "content")));
    attach_files(was, all);
  }
  return all;
}

/// `stop:<turn>`, `approve:<call>`, `deny:<call>`: the contents of our own buttons.
void read_button(const std::string& id, interaction& into) {
  const auto colon = id.find(':');
  if (colon == std::string::npos) return;
  into.target = operation_id::parse(id.substr(colon + 1));
  if (!into.target) return;
  const auto word = id.substr(0, colon);
  if (word == "stop") into.what = interaction_kind::stop_turn;
  if (word == "approve") into.what = interaction_kind::approve;
  if (word == "deny") into.what = interaction_kind::deny;
}

void read_command(const json& data, interaction& into) {
  if (number_of(data, "type", chat_input) != chat_input) return;
  const auto name = text_of(data, "name");
  if (name == "stop") into.what = interaction_kind::stop;
  if (name != "ask") return;
  const auto& options = member_of(data, "options");
  if (!options.is_array()) return;
  for (const auto& option : options)
    if (text_of(option, "name") == "text") into.text = trimmed(text_of(option, "value"));
  if (!into.text.empty()) into.what = interaction_kind::ask;
}

/// Roles of a server are its own: no other server has one with the same id.
std::vector<std::string> roles_of(const json& member) {
  constexpr std::size_t most = 256; // Discord allows 250 in a server
  std::vector<std::string> all;
  const auto& list = member_of(member, "roles");
  if (!list.is_array()) return all;
  for (const auto& one : list)
    if (one.is_string() && is_snowflake(one.get<std::string>()) && all.size() < most)
      all.push_back(one.get<std::string>());
  return all;
}

} // namespace

bool is_snowflake(std::string_view text) {
  return !text.empty() && text.size() <= most_id &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<scope_path> discord_scope(std::string_view guild, std::string_view channel) {
  if (!is_snowflake(channel) || (!guild.empty() && !is_snowflake(guild))) return std::nullopt;
  auto scope = scope_path::parse("discord/" + std::string(guild.empty() ? "dm" : guild) + "/" + std::string(channel));
  if (!scope) return std::nullopt;
  return std::move(*scope);
}

std::string channel_of(const scope_path& scope) {
  const auto parts = scope.segments();
  if (parts.size() < 3 || parts[0] != "discord" || !is_snowflake(parts[2])) return {};
  return std::string(parts[2]);
}

std::optional<incoming_message> read_message(std::string_view text, std::string_view own_id) {
  const auto message = json::parse(text, nullptr, false);
  const auto& author = member_of(message, "author");
  const auto id = snowflake_of(message, "id");
  const auto guild = text_of(message, "guild_id");
  const auto scope = discord_scope(guild, text_of(message, "channel_id"));
  const auto type = number_of(message, "type", ordinary_message);
  if (id.empty() || !scope || is_true(author, "bot") || !member_of(message, "webhook_id").is_null() ||
      (type != ordinary_message && type != reply_message))
    return std::nullopt;
  incoming_message s;
  s.scope = *scope;
  s.id = "discord:" + id;
  s.author = person_of(author, member_of(message, "member"));
  if (s.author.id.empty() || s.author.id == own_id) return std::nullopt;
  s.text = text_of(message, "content");
  bool begins_with_us = false;
  if (!own_id.empty()) {
    for (const auto& us : {"<@" + std::string(own_id) + ">", "<@!" + std::string(own_id) + ">"}) {
      begins_with_us = begins_with_us || trimmed(s.text).starts_with(us);
      take_out(s.text, us);
    }
  }
  s.text = std::string(begins_with_us ? behind_name(s.text) : trimmed(s.text));
  if (s.text.empty() && attachments_of(message).empty()) return std::nullopt;
  s.addressed =
      guild.empty() ||
      (!own_id.empty() && (names(member_of(message, "mentions"), own_id) ||
                           text_of(member_of(member_of(message, "referenced_message"), "author"), "id") == own_id));
  return s;
}

bool answers_another(std::string_view text) {
  const auto message = json::parse(text, nullptr, false);
  const auto whom = text_of(member_of(member_of(message, "referenced_message"), "author"), "id");
  return !whom.empty() && whom != text_of(member_of(message, "author"), "id");
}

bool tells_addressee(std::string_view text) {
  const auto message = json::parse(text, nullptr, false);
  const bool answers = member_of(message, "message_reference").is_object();
  return member_of(message, "mentions").is_array() &&
         (!answers || member_of(message, "referenced_message").is_object());
}

std::string attached_to(std::string_view text) { return attachments_of(json::parse(text, nullptr, false)); }

std::vector<offered_file> files_of(std::string_view text) {
  constexpr std::size_t most = 20;
  const auto message = json::parse(text, nullptr, false);
  std::vector<offered_file> all;
  offer_files(message, all);
  for (const auto& snapshot : list_of(message, "message_snapshots")) offer_files(member_of(snapshot, "message"), all);
  if (all.size() > most) all.resize(most);
  return all;
}

result<interaction> read_interaction(std::string_view text) {
  const auto body = json::parse(text, nullptr, false);
  const auto type = number_of(body, "type", 0);
  interaction i;
  if (type == ping) {
    i.what = interaction_kind::ping;
    return i;
  }
  i.id = snowflake_of(body, "id");
  i.application = snowflake_of(body, "application_id");
  i.token = text_of(body, "token");
  i.guild = text_of(body, "guild_id");
  i.scope = discord_scope(i.guild, text_of(body, "channel_id"));
  const auto& member = member_of(body, "member");
  i.by = person_of(member.is_object() ? member_of(member, "user") : member_of(body, "user"), member);
  i.by.roles = roles_of(member);
  if (type == 0 || i.id.empty() || !i.scope || i.by.id.empty() || !is_token(i.token))
    return failure(error_code::bad_json, "this is not an interaction of a channel");
  const auto& data = member_of(body, "data");
  if (type == command) read_command(data, i);
  if (type == component) read_button(text_of(data, "custom_id"), i);
  return i;
}

} // namespace quell::integrations::chat::discord
