// Everything in a card is somebody else's text: bounded, on one line, and never a reason to send a token elsewhere.
#include "integrations/a2a/card.hpp"

#include <curl/curl.h>

#include <memory>

#include "integrations/a2a/limits.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/models/text.hpp"
#include "integrations/models/web_request.hpp"

namespace quell::integrations::a2a {
namespace {

constexpr const char* order_schema =
    R"({"type":"object","properties":{"message":{"type":"string","minLength":1,"description":"what it is to do, in full; )"
    R"(it sees nothing of this conversation"},"conversation":{"type":"string","description":"from an earlier result, )"
    R"(in full, to go on with that conversation"},"task":{"type":"string","description":"from an earlier result that )"
    R"(needs input, in full, to answer it; give its conversation, too"}},"required":["message"]})";

std::string description_of(const json& card, const std::string& name) {
  std::string text = "Sends a message to the remote agent " + name;
  const auto shown = excerpt(text_member(card, "name"), 100);
  if (!shown.empty() && shown != name) text += " (" + shown + ")";
  text += " and returns its answer. ";
  text += excerpt(text_member(card, "description"), a2a_limits::description_characters);
  const json& skills = member(card, "skills");
  if (!skills.is_array()) return text;
  std::size_t count = 0;
  for (const json& skill : skills) {
    const auto skill_name = excerpt(text_member(skill, "name"), 100);
    if (skill_name.empty()) continue;
    if (++count > a2a_limits::skills) break;
    const auto words = excerpt(text_member(skill, "description"), a2a_limits::skill_characters);
    text += "\n- " + skill_name + (words.empty() ? "" : ": " + words);
  }
  return text;
}

bool speaks_version_one(const json& interface) {
  const auto version = text_member(interface, "protocolVersion");
  return version == "1.0" || version.starts_with("1.");
}

} // namespace

std::string card_address(const std::string& url) {
  if (url.ends_with(".json")) return url;
  return url + (url.ends_with('/') ? "" : "/") + ".well-known/agent-card.json";
}

std::string origin_of(const std::string& url) {
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(curl_url(), curl_url_cleanup);
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return {};
  std::string parts[3];
  const CURLUPart wanted[3] = {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT};
  for (int i = 0; i < 3; ++i) {
    char* text = nullptr;
    if (curl_url_get(parsed.get(), wanted[i], &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
    parts[i] = lower(text);
    curl_free(text);
  }
  if (parts[0] != "http" && parts[0] != "https") return {};
  return parts[0] + "://" + parts[1] + ":" + parts[2];
}

result<agent_card> read_card(const json& card, const std::string& name, const std::string& url) {
  const auto who = "remote agent " + name + ": ";
  const json& interfaces = member(card, "supportedInterfaces");
  if (!card.is_object() || !interfaces.is_array())
    return failure(server_code::a2a_broken, who + "what it serves at " + card_address(url) +
                                                " is not the card of an agent of A2A 1.0 (no supportedInterfaces)");
  agent_card read;
  for (const json& one : interfaces) {
    if (text_member(one, "protocolBinding") != "JSONRPC" || !speaks_version_one(one)) continue;
    read.url = text_member(one, "url");
    read.tenant = text_member(one, "tenant");
    break;
  }
  if (read.url.empty())
    return failure(server_code::a2a_refused,
                   who + "its card offers no JSON-RPC interface of A2A 1.0, and quell speaks no other");
  const auto origin = read.url.size() <= a2a_limits::url_bytes ? origin_of(read.url) : std::string();
  if (origin.empty() || origin != origin_of(url) || read.tenant.size() > a2a_limits::id_bytes)
    return failure(server_code::a2a_refused,
                   who + "its card names the address " + excerpt(read.url, 200) +
                       ", which is not on the server that its `url` names; if that is right, write the "
                       "address of that server's card as the url");
  read.streams = member(member(card, "capabilities"), "streaming") == json(true);
  read.tool.name = "send";
  read.tool.description = description_of(card, name);
  read.tool.input_schema = order_schema;
  return read;
}

result<call_order> read_order(const std::string& input_json) {
  const auto input = parse_json(input_json);
  call_order order;
  order.message = input ? text_member(*input, "message") : std::string();
  if (order.message.empty()) return failure(server_code::a2a_refused, "`message` must be a text that is not empty");
  order.conversation = text_member(*input, "conversation");
  order.task = text_member(*input, "task");
  for (const auto* id : {&order.conversation, &order.task})
    if (id->size() > a2a_limits::id_bytes)
      return failure(server_code::a2a_refused,
                     "`conversation` and `task` are ids from an earlier result; these are too long");
  return order;
}

} // namespace quell::integrations::a2a
