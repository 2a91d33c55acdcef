// Converts values to JSON.
#include "integrations/chat/discord/write.hpp"

#include "integrations/chat/discord/json_access.hpp"
#include "integrations/chat/discord/read.hpp"
#include "integrations/chat/text_length.hpp"

namespace quell::integrations::chat::discord {
namespace {

using nlohmann::json;

constexpr int row = 1, button = 2;
constexpr int green = 3, grey = 2, red = 4;
constexpr int only_the_asker = 64;
constexpr std::size_t most_quoted = 1800;
constexpr std::string_view id_prefix = "discord:";

json nobody() { return {{"parse", json::array()}}; }

json button_of(const char* label, int style, const std::string& id) {
  return {{"type", button}, {"style", style}, {"label", label}, {"custom_id", id}};
}

json buttons_of(const action& a) {
  json all = json::array();
  if (a.asks && a.asks->is_open) {
    all.push_back(button_of("Approve", green, "approve:" + a.asks->call.text()));
    all.push_back(button_of("Deny", grey, "deny:" + a.asks->call.text()));
  }
  if (a.turn && a.is_live) all.push_back(button_of("Stop", red, "stop:" + a.turn->text()));
  if (all.empty()) return all;
  return json::array({{{"type", row}, {"components", std::move(all)}}});
}

/// Discord's own id of a message; "" if it has none, such as a command's.
std::string own_id(std::string_view id) {
  if (id.starts_with(id_prefix)) id.remove_prefix(id_prefix.size());
  return is_snowflake(id) ? std::string(id) : std::string();
}

std::string escaped(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text;
  for (const unsigned char c : bytes) ((text += '%') += digits[c >> 4]) += digits[c & 15];
  return text;
}

std::string answer(const std::string& text, int flags) {
  return written({{"type", 4}, {"data", {{"content", text}, {"flags", flags}, {"allowed_mentions", nobody()}}}});
}

} // namespace

std::optional<rest_request> request_of(const action& a, const std::string& nonce) {
  const auto channel = channel_of(a.place);
  if (channel.empty()) return std::nullopt;
  const auto messages = "/channels/" + channel + "/messages";
  const auto message = own_id(a.message);
  json body = {{"content", a.text}, {"allowed_mentions", nobody()}, {"components", buttons_of(a)}};
  switch (a.what) {
  case action_kind::post:
    body["nonce"] = nonce;
    body["enforce_nonce"] = true;
    if (const auto answered = own_id(a.reply_to); !answered.empty())
      body["message_reference"] = {{"message_id", answered}, {"fail_if_not_exists", false}};
    return rest_request{"POST", messages, written(body), "POST " + channel};
  case action_kind::edit:
    if (message.empty()) return std::nullopt;
    return rest_request{"PATCH", messages + "/" + message, written(body), "PATCH " + channel};
  case action_kind::react:
    if (message.empty()) return std::nullopt;
    return rest_request{"PUT", messages + "/" + message + "/reactions/" + escaped(a.text) + "/@me", "",
                        "PUT " + channel};
  case action_kind::unreact:
    if (message.empty()) return std::nullopt;
    return rest_request{"DELETE", messages + "/" + message + "/reactions/" + escaped(a.text) + "/@me", "",
                        "PUT " + channel};
  case action_kind::find: // posts are recognised by their nonce
    break;
  case action_kind::remove:
    if (message.empty()) return std::nullopt;
    return rest_request{"DELETE", messages + "/" + message, "", "DELETE " + channel};
  }
  return std::nullopt;
}

std::vector<rest_request> commands_of(const std::string& application) {
  const auto path = "/applications/" + application + "/commands";
  const json text = {{"type", 3}, {"name", "text"}, {"description", "What to do"}, {"required", true}};
  const json ask = {{"name", "ask"}, {"type", 1}, {"description", "Say something to the bot"}, {"options", {text}}};
  const json stop = {
      {"name", "stop"}, {"type", 1}, {"description", "Stop everything that the bot does in this channel"}};
  return {{"POST", path, written(ask), "commands"}, {"POST", path, written(stop), "commands"}};
}

rest_request answer_later(const std::string& application, const std::string& token, const std::string& text) {
  return {"PATCH", "/webhooks/" + application + "/" + token + "/messages/@original",
          written({{"content", text}, {"allowed_mentions", nobody()}}), "interactions"};
}

std::string pong() { return R"({"type":1})"; }
std::string private_message(const std::string& text) { return answer(text, only_the_asker); }
std::string public_message(const std::string& text) { return answer(text, 0); }
std::string deferred() { return written({{"type", 5}, {"data", {{"flags", only_the_asker}}}}); }

std::string quoted(const std::string& who, const std::string& text) {
  std::string all = "**" + who + "**:\n> ";
  const auto fits = text.substr(0, fitting(text, most_quoted, length_unit::utf16));
  for (const char c : fits) {
    if (all.size() > 2 * most_quoted) break; // each further line costs two characters
    all += c;
    if (c == '\n') all += "> ";
  }
  if (length_of(all, length_unit::utf16) > 1990) all.resize(fitting(all, 1990, length_unit::utf16));
  return all + (fits.size() < text.size() ? "…" : "");
}

} // namespace quell::integrations::chat::discord
