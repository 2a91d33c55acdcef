// Builds a request for Anthropic's Messages API (POST /v1/messages, version 2023-06-01).
#include <set>

#include "integrations/models/endpoint.hpp"
#include "integrations/models/json.hpp"
#include "integrations/models/text.hpp"
#include "integrations/models/translator.hpp"

namespace quell::integrations {
namespace {

constexpr std::size_t most_anthropic_tools = 512;

/// The blocks of the last message if it has this role, else of a new one: roles must alternate, so neighbours are
/// merged.
json& blocks_of(json& messages, const char* role) {
  if (messages.empty() || messages.back()["role"] != role)
    messages.push_back(json{{"role", role}, {"content", json::array()}});
  return messages.back()["content"];
}

void put_in_anthropic(json& messages, const user_message& user) {
  blocks_of(messages, "user").push_back(json{{"type", "text"}, {"text", user.text}});
}

void put_in_anthropic(json& messages, const assistant_message& assistant) {
  json& blocks = blocks_of(messages, "assistant");
  if (!assistant.text.empty()) blocks.push_back(json{{"type", "text"}, {"text", assistant.text}});
  for (const tool_call& call : assistant.calls)
    blocks.push_back(
        json{{"type", "tool_use"}, {"id", call.call}, {"name", call.name}, {"input", call_input(call.input)}});
}

void put_in_anthropic(json& messages, const tool_results& results) {
  json& blocks = blocks_of(messages, "user");
  for (const tool_result& result : results.results) {
    json block{{"type", "tool_result"}, {"tool_use_id", result.call}, {"content", result.result}};
    if (!result.ok) block["is_error"] = true;
    blocks.push_back(std::move(block));
  }
}

json schema_of(const std::string& text) {
  json schema = parse_json(text).value_or(json::object());
  if (!schema.contains("type")) schema["type"] = "object";
  return schema;
}

/// Anthropic refuses a history with calls unless tools are declared; if none are offered, the old tools are declared
/// and their use is forbidden.
void put_tools(json& body, const model_request& request, const conversation& history) {
  json tools = json::array();
  for (const tool_offer& tool : request.tools)
    tools.push_back(json{{"name", tool.name},
                         {"description", repaired(tool.description)},
                         {"input_schema", schema_of(tool.input_schema)}});
  if (tools.empty()) {
    std::set<std::string> names;
    for (const conversation_entry& entry : history)
      if (const auto* assistant = std::get_if<assistant_message>(&entry))
        for (const tool_call& call : assistant->calls) names.insert(call.name);
    for (const std::string& name : names) tools.push_back(json{{"name", name}, {"input_schema", {{"type", "object"}}}});
    if (!tools.empty()) body["tool_choice"] = json{{"type", "none"}};
  }
  if (!tools.empty()) body["tools"] = std::move(tools);
}

} // namespace

result<http_request> anthropic_request(const model_settings& settings, const model_request& request) {
  if (auto wrong = wrong_basics(settings)) return tl::unexpected(std::move(*wrong));
  if (auto wrong = wrong_offers(request.tools, most_anthropic_tools)) return tl::unexpected(std::move(*wrong));
  auto place = endpoint_of(settings, "https://api.anthropic.com/v1", "/messages");
  if (!place) return tl::unexpected(std::move(place.error()));

  const conversation history = orderly(request.messages);
  json messages = json::array();
  for (const conversation_entry& entry : history)
    std::visit([&](const auto& one) { put_in_anthropic(messages, one); }, entry);
  json body{{"model", settings.model}, {"max_tokens", settings.max_tokens}, {"stream", true}};
  if (!blank(request.instructions)) body["system"] = repaired(request.instructions);
  body["messages"] = std::move(messages);
  put_tools(body, request, history);

  http_request asked{place->url, place->shown, {}, dump_json(body)};
  asked.headers = {"Content-Type: application/json", "Accept: text/event-stream", "anthropic-version: 2023-06-01"};
  if (!settings.key.empty()) asked.headers.push_back("x-api-key: " + settings.key);
  return asked;
}

} // namespace quell::integrations
