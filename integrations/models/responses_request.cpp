// Builds a request for OpenAI's Responses API (POST …/responses). Nothing is stored there: each request holds the whole
// conversation.
#include "integrations/models/answer_order.hpp"
#include "integrations/models/endpoint.hpp"
#include "integrations/models/json.hpp"
#include "integrations/models/media.hpp"
#include "integrations/models/text.hpp"
#include "integrations/models/translator.hpp"

namespace quell::integrations {
namespace {

constexpr std::size_t most_responses_tools = 128;

/// Content of a message or a result: a text, or parts if bytes are among them.
json responses_content(const model_settings& settings, const attachments& files, const std::string& text) {
  if (!has_bytes_for(settings, files)) return with_media_texts(settings, files, text);
  json parts = json::array();
  const auto add_text = [&](const std::string& piece) {
    if (!blank(piece)) parts.push_back(json{{"type", "input_text"}, {"text", piece}});
  };
  const auto add_image = [&](const attachment& one) {
    parts.push_back(json{{"type", "input_image"}, {"detail", "auto"}, {"image_url", data_uri(one)}});
  };
  const auto add_document = [&](const attachment& one) {
    parts.push_back(json{{"type", "input_file"}, {"filename", file_name_of(one)}, {"file_data", data_uri(one)}});
  };
  put_media(settings, files, {add_text, add_image, add_document});
  add_text(text);
  return parts;
}

void put_in_responses(json& input, const model_settings& settings, const user_message& user) {
  input.push_back(json{{"role", "user"}, {"content", responses_content(settings, user.files, user.text)}});
}

void put_in_responses(json& input, const model_settings& settings, const assistant_message& assistant) {
  in_order(
      assistant,
      [&](std::string_view text) {
        input.push_back(json{{"role", "assistant"}, {"content", text}});
      },
      [&](const tool_call& call) {
        input.push_back(json{{"type", "function_call"},
                             {"call_id", call.call},
                             {"name", call.name},
                             {"arguments", dump_json(call_input(call.input))}});
      },
      [&](const thinking_block& one) {
        if (auto item = parse_json(one.block); item && one.model == settings.model) input.push_back(std::move(*item));
      });
}

void put_in_responses(json& input, const model_settings& settings, const tool_results& results) {
  for (const tool_result& result : results.results)
    input.push_back(json{{"type", "function_call_output"},
                         {"call_id", result.call},
                         {"output", responses_content(settings, result.files, result.result)}});
}

json offered_to_responses(const tool_offer& tool) {
  json schema = parse_json(tool.input_schema).value_or(json::object());
  if (!schema.contains("type")) schema["type"] = "object";
  if (!schema.contains("properties")) schema["properties"] = json::object();
  return json{{"type", "function"},
              {"name", tool.name},
              {"description", repaired(tool.description)},
              {"parameters", std::move(schema)},
              {"strict", false}};
}

void put_responses_settings(json& body, const model_settings& settings, const model_request& request) {
  const answer_settings& how = settings.answer;
  if (how.temperature) body["temperature"] = *how.temperature;
  if (how.top_p) body["top_p"] = *how.top_p;
  if (!how.effort.empty()) {
    body["reasoning"] = json{{"effort", how.effort}, {"summary", "auto"}};
    body["include"] = json::array({"reasoning.encrypted_content"});
  }
  if (how.json) body["text"]["format"] = json{{"type", "json_object"}};
  if (!how.schema.empty())
    body["text"]["format"] =
        json{{"type", "json_schema"}, {"name", "answer"}, {"strict", true}, {"schema", *parse_json(how.schema)}};
  const std::string choice = tool_choice_of(settings, request);
  if (choice == "auto" || choice == "none")
    body["tool_choice"] = choice;
  else if (choice == "any")
    body["tool_choice"] = "required";
  else if (!choice.empty())
    body["tool_choice"] = json{{"type", "function"}, {"name", choice}};
}

} // namespace

result<http_request> responses_request(const model_settings& settings, const model_request& request) {
  if (auto wrong = wrong_basics(settings)) return tl::unexpected(std::move(*wrong));
  if (auto wrong = wrong_offers(request.tools, most_responses_tools)) return tl::unexpected(std::move(*wrong));
  if (auto wrong = wrong_answer_settings(settings)) return tl::unexpected(std::move(*wrong));
  auto place = endpoint_of(settings, "https://api.openai.com/v1", "/responses");
  if (!place) return tl::unexpected(std::move(place.error()));

  json input = json::array();
  for (const conversation_entry& entry : orderly(request.messages))
    std::visit([&](const auto& one) { put_in_responses(input, settings, one); }, entry);
  json body{{"model", settings.model},
            {"stream", true},
            {"store", false},
            {"max_output_tokens", settings.max_tokens},
            {"input", std::move(input)}};
  if (!blank(request.instructions)) body["instructions"] = repaired(request.instructions);
  if (!request.tools.empty()) {
    body["tools"] = json::array();
    for (const tool_offer& tool : request.tools) body["tools"].push_back(offered_to_responses(tool));
  }
  put_responses_settings(body, settings, request);

  return post_with_bearer(settings, *place, body);
}

} // namespace quell::integrations
