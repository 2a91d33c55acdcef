// Builds a request for OpenAI's Chat Completions (POST …/chat/completions), in a form that compatible servers accept
// too.
#include "integrations/models/endpoint.hpp"
#include "integrations/models/json.hpp"
#include "integrations/models/media.hpp"
#include "integrations/models/text.hpp"
#include "integrations/models/translator.hpp"
#include "protocol/note.hpp"

namespace quell::integrations {
namespace {

constexpr std::size_t most_openai_tools = 128;

/// The content of a user's message: a text, or parts if bytes are among them.
json openai_content(const model_settings& settings, const attachments& files, const std::string& text) {
  if (!has_bytes_for(settings, files)) return with_media_texts(settings, files, text);
  json parts = json::array();
  const auto add_text = [&](const std::string& piece) {
    if (!blank(piece)) parts.push_back(json{{"type", "text"}, {"text", piece}});
  };
  const auto add_image = [&](const attachment& one) {
    parts.push_back(json{{"type", "image_url"}, {"image_url", {{"url", data_uri(one)}}}});
  };
  const auto add_document = [&](const attachment& one) {
    parts.push_back(json{{"type", "file"}, {"file", {{"filename", file_name_of(one)}, {"file_data", data_uri(one)}}}});
  };
  put_media(settings, files, {add_text, add_image, add_document});
  add_text(text);
  return parts;
}

void put_in_openai(json& messages, const model_settings& settings, const user_message& user) {
  auto content = openai_content(settings, user.files, user.text);
  // Behind the files of tool results there is a user's message already.
  if (messages.empty() || messages.back()["role"] != "user") {
    messages.push_back(json{{"role", "user"}, {"content", std::move(content)}});
    return;
  }
  auto& parts = messages.back()["content"];
  if (content.is_string()) content = json::array({json{{"type", "text"}, {"text", content}}});
  parts.insert(parts.end(), content.begin(), content.end());
}

void put_in_openai(json& messages, const model_settings&, const assistant_message& assistant) {
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

/// A tool's message takes text only: images and documents follow in a message of the user.
void put_in_openai(json& messages, const model_settings& settings, const tool_results& results) {
  json files = json::array();
  for (const tool_result& result : results.results) {
    if (!has_bytes_for(settings, result.files)) {
      messages.push_back(json{{"role", "tool"},
                              {"tool_call_id", result.call},
                              {"content", with_media_texts(settings, result.files, result.result)}});
      continue;
    }
    messages.push_back(json{{"role", "tool"}, {"tool_call_id", result.call}, {"content", result.result}});
    const auto parts =
        openai_content(settings, result.files, note("These files are of the result of " + result.name + "."));
    files.insert(files.end(), parts.begin(), parts.end());
  }
  if (!files.empty()) messages.push_back(json{{"role", "user"}, {"content", std::move(files)}});
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

http_request post_with_bearer(const model_settings& settings, const endpoint& place, const nlohmann::json& body) {
  http_request post{
      place.url, place.shown, {"Content-Type: application/json", "Accept: text/event-stream"}, dump_json(body)};
  if (!settings.key.empty()) post.headers.push_back("Authorization: Bearer " + settings.key);
  add_headers(settings, post.headers);
  return post;
}

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
    std::visit([&](const auto& one) { put_in_openai(messages, settings, one); }, entry);
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

  return post_with_bearer(settings, *place, body);
}

} // namespace quell::integrations
