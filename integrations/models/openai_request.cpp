// Builds a request for OpenAI's Chat Completions (POST …/chat/completions), in a form that compatible servers accept
// too.
#include "integrations/models/endpoint.hpp"
#include "integrations/models/json.hpp"
#include "integrations/models/text.hpp"
#include "integrations/models/translator.hpp"

namespace quell::integrations {
namespace {

constexpr std::size_t most_openai_tools = 128;

void put_in_openai(json& messages, const user_message& user) {
  messages.push_back(json{{"role", "user"}, {"content", user.text}});
}

void put_in_openai(json& messages, const assistant_message& assistant) {
  json message{{"role", "assistant"}, {"content", nullptr}};
  if (!assistant.text.empty()) message["content"] = assistant.text;
  json calls = json::array();
  for (const tool_call& call : assistant.calls)
    calls.push_back(json{{"id", call.call},
                         {"type", "function"},
                         {"function", {{"name", call.name}, {"arguments", dump_json(call_input(call.input))}}}});
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  messages.push_back(std::move(message));
}

void put_in_openai(json& messages, const tool_results& results) {
  for (const tool_result& result : results.results)
    messages.push_back(json{{"role", "tool"}, {"tool_call_id", result.call}, {"content", result.result}});
}

json offered(const tool_offer& tool) {
  json schema = parse_json(tool.input_schema).value_or(json::object());
  if (!schema.contains("type")) schema["type"] = "object";
  if (!schema.contains("properties")) schema["properties"] = json::object();
  return json{{"type", "function"},
              {"function",
               {{"name", tool.name}, {"description", repaired(tool.description)}, {"parameters", std::move(schema)}}}};
}

void put_openai_settings(json& body, const model_settings& settings, const model_request& request) {
  const answer_settings& how = settings.answer;
  if (how.temperature) body["temperature"] = *how.temperature;
  if (how.top_p) body["top_p"] = *how.top_p;
  if (!how.effort.empty()) body["reasoning_effort"] = how.effort;
  if (how.json) body["response_format"] = json{{"type", "json_object"}};
  if (!how.schema.empty())
    body["response_format"] =
        json{{"type", "json_schema"},
             {"json_schema", {{"name", "answer"}, {"strict", true}, {"schema", *parse_json(how.schema)}}}};
  const std::string choice = tool_choice_of(settings, request);
  if (choice == "auto" || choice == "none")
    body["tool_choice"] = choice;
  else if (choice == "any")
    body["tool_choice"] = "required";
  else if (!choice.empty())
    body["tool_choice"] = json{{"type", "function"}, {"function", {{"name", choice}}}};
}

} // namespace

result<http_request> openai_request(const model_settings& settings, const model_request& request) {
  if (auto wrong = wrong_basics(settings)) return tl::unexpected(std::move(*wrong));
  if (auto wrong = wrong_offers(request.tools, most_openai_tools)) return tl::unexpected(std::move(*wrong));
  if (auto wrong = wrong_answer_settings(settings)) return tl::unexpected(std::move(*wrong));
  auto place = endpoint_of(settings, "https://api.openai.com/v1", "/chat/completions");
  if (!place) return tl::unexpected(std::move(place.error()));

  json messages = json::array();
  if (!blank(request.instructions))
    messages.push_back(json{{"role", "system"}, {"content", repaired(request.instructions)}});
  for (const conversation_entry& entry : orderly(request.messages))
    std::visit([&](const auto& one) { put_in_openai(messages, one); }, entry);
  json body{{"model", settings.model}, {"stream", true}, {"stream_options", {{"include_usage", true}}}};
  // OpenAI's newer models refuse the old name; many compatible servers know only the old one.
  const bool theirs = place->host.ends_with("api.openai.com") || place->host.ends_with(".azure.com");
  body[theirs ? "max_completion_tokens" : "max_tokens"] = settings.max_tokens;
  body["messages"] = std::move(messages);
  if (!request.tools.empty()) {
    body["tools"] = json::array();
    for (const tool_offer& tool : request.tools) body["tools"].push_back(offered(tool));
  }

  put_openai_settings(body, settings, request);

  http_request made_request{place->url, place->shown, {}, dump_json(body)};
  made_request.headers = {"Content-Type: application/json", "Accept: text/event-stream"};
  if (!settings.key.empty()) made_request.headers.push_back("Authorization: Bearer " + settings.key);
  add_headers(settings, made_request.headers);
  return made_request;
}

} // namespace quell::integrations
