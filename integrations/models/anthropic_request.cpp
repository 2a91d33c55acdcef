// Builds a request for Anthropic's Messages API (POST /v1/messages, version 2023-06-01).
#include <algorithm>
#include <set>

#include "integrations/models/answer_order.hpp"
#include "integrations/models/endpoint.hpp"
#include "integrations/models/json.hpp"
#include "integrations/models/media.hpp"
#include "integrations/models/text.hpp"
#include "integrations/models/translator.hpp"
#include "protocol/base64.hpp"

namespace quell::integrations {
namespace {

constexpr std::size_t most_anthropic_tools = 512;

json cache_mark() { return json{{"type", "ephemeral"}}; }

/// The blocks of the last message if it has this role, else of a new one: roles must alternate, so neighbours are
/// merged.
json& blocks_of(json& messages, const char* role) {
  if (messages.empty() || messages.back()["role"] != role)
    messages.push_back(json{{"role", role}, {"content", json::array()}});
  return messages.back()["content"];
}

void put_files(json& blocks, const model_settings& settings, const attachments& files) {
  const auto source = [](const attachment& one) {
    return json{{"type", "base64"}, {"media_type", one.type}, {"data", base64(*one.content)}};
  };
  const auto add_text = [&](const std::string& text) { blocks.push_back(json{{"type", "text"}, {"text", text}}); };
  const auto add_image = [&](const attachment& one) {
    blocks.push_back(json{{"type", "image"}, {"source", source(one)}});
  };
  const auto add_document = [&](const attachment& one) {
    blocks.push_back(json{{"type", "document"}, {"source", source(one)}, {"title", file_name_of(one)}});
  };
  put_media(settings, files, {add_text, add_image, add_document});
}

void put_in_anthropic(json& messages, const model_settings& settings, const user_message& user) {
  json& blocks = blocks_of(messages, "user");
  put_files(blocks, settings, user.files);
  if (!blank(user.text)) blocks.push_back(json{{"type", "text"}, {"text", user.text}});
}

void put_in_anthropic(json& messages, const model_settings&, const assistant_message& assistant) {
  json& blocks = blocks_of(messages, "assistant");
  in_order(
      assistant,
      [&](std::string_view text) {
        blocks.push_back(json{{"type", "text"}, {"text", text}});
      },
      [&](const tool_call& call) {
        blocks.push_back(
            json{{"type", "tool_use"}, {"id", call.call}, {"name", call.name}, {"input", call_input(call.input)}});
      },
      [&](const thinking_block& one) {
        if (auto block = parse_json(one.block)) blocks.push_back(std::move(*block));
      });
}

void put_in_anthropic(json& messages, const model_settings& settings, const tool_results& results) {
  json& blocks = blocks_of(messages, "user");
  for (const tool_result& result : results.results) {
    json block{{"type", "tool_result"}, {"tool_use_id", result.call}, {"content", result.result}};
    if (!result.files.empty() && result.ok) { // an error result takes text only
      json content = json::array({json{{"type", "text"}, {"text", result.result}}});
      put_files(content, settings, result.files);
      block["content"] = std::move(content);
    }
    if (!result.ok) block["is_error"] = true;
    blocks.push_back(std::move(block));
  }
}

json schema_of(const std::string& text) {
  json schema = parse_json(text).value_or(json::object());
  if (!schema.contains("type")) schema["type"] = "object";
  return schema;
}

/// Thinking goes back only to the model that thought, and only while the results of the same turn's calls come.
void keep_usable_thinking(conversation& history, const std::string& model, bool thinks) {
  bool is_of_turn = thinks;
  for (auto entry = history.rbegin(); entry != history.rend(); ++entry) {
    if (const auto* stated = std::get_if<user_message>(&*entry); stated && !stated->steers) is_of_turn = false;
    auto* assistant = std::get_if<assistant_message>(&*entry);
    if (!assistant) continue;
    if (!is_of_turn) assistant->thinking.clear();
    std::erase_if(assistant->thinking, [&](const thinking_block& one) { return one.model != model; });
  }
}

/// Anthropic refuses a request with thinking if the answer whose calls were just answered came without: after a
/// restart, from another model, or in a turn that was stopped. Such a request goes without thinking, also where words
/// of the user stand behind the results.
bool may_think(const conversation& history, const std::string& model) {
  auto end = history.size();
  while (end > 0 && std::holds_alternative<user_message>(history[end - 1])) --end;
  if (end < 2 || !std::holds_alternative<tool_results>(history[end - 1])) return true;
  const auto* last = std::get_if<assistant_message>(&history[end - 2]);
  return last && std::any_of(last->thinking.begin(), last->thinking.end(),
                             [&](const thinking_block& one) { return one.model == model; });
}

void put_anthropic_settings(json& body, const model_settings& settings, bool thinks) {
  const answer_settings& how = settings.answer;
  if (how.temperature && !thinks) body["temperature"] = *how.temperature;
  if (how.top_p) body["top_p"] = *how.top_p;
  if (thinks && how.adaptive_thinking) body["thinking"] = json{{"type", "adaptive"}, {"display", "summarized"}};
  if (thinks && how.thinking_tokens)
    body["thinking"] = json{{"type", "enabled"}, {"budget_tokens", *how.thinking_tokens}};
  if (!how.effort.empty()) body["output_config"]["effort"] = how.effort;
  if (!how.schema.empty())
    body["output_config"]["format"] = json{{"type", "json_schema"}, {"schema", *parse_json(how.schema)}};
}

/// Marks the ends of what the next request repeats: the newest message, and the one before it of the same side, which
/// the last request marked.
void mark_history(json& messages) {
  int marks = 0;
  for (auto message = messages.rbegin(); message != messages.rend() && marks < 2; ++message) {
    if ((*message)["role"] != "user") continue;
    (*message)["content"].back()["cache_control"] = cache_mark();
    ++marks;
  }
}

/// Anthropic refuses a history with calls unless tools are declared; if none are offered, the old tools are declared
/// and their use is forbidden.
void put_tools(json& body, const model_settings& settings, const model_request& request, const conversation& history) {
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
  if (tools.empty()) return;
  if (const std::string choice = tool_choice_of(settings, request);
      choice == "auto" || choice == "none" || choice == "any")
    body["tool_choice"] = json{{"type", choice}};
  else if (!choice.empty())
    body["tool_choice"] = json{{"type", "tool"}, {"name", choice}};
  if (settings.prompt_cache) tools.back()["cache_control"] = cache_mark();
  body["tools"] = std::move(tools);
}

} // namespace

result<http_request> anthropic_request(const model_settings& settings, const model_request& request) {
  if (auto wrong = wrong_basics(settings)) return tl::unexpected(std::move(*wrong));
  if (auto wrong = wrong_offers(request.tools, most_anthropic_tools)) return tl::unexpected(std::move(*wrong));
  if (auto wrong = wrong_answer_settings(settings)) return tl::unexpected(std::move(*wrong));
  auto place = endpoint_of(settings, "https://api.anthropic.com/v1", "/messages");
  if (!place) return tl::unexpected(std::move(place.error()));

  conversation history = orderly(request.messages);
  keep_usable_thinking(history, settings.model, settings.answer.thinks());
  const bool thinks = settings.answer.thinks() && may_think(history, settings.model);
  if (!thinks) keep_usable_thinking(history, settings.model, false);
  json messages = json::array();
  for (const conversation_entry& entry : history)
    std::visit([&](const auto& one) { put_in_anthropic(messages, settings, one); }, entry);
  json body{{"model", settings.model}, {"max_tokens", settings.max_tokens}, {"stream", true}};
  put_anthropic_settings(body, settings, thinks);
  if (!blank(request.instructions)) {
    body["system"] = repaired(request.instructions);
    if (settings.prompt_cache)
      body["system"] = json::array(
          {json{{"type", "text"}, {"text", repaired(request.instructions)}, {"cache_control", cache_mark()}}});
  }
  if (settings.prompt_cache) mark_history(messages);
  body["messages"] = std::move(messages);
  put_tools(body, settings, request, history);

  http_request made_request{place->url, place->shown, {}, dump_json(body)};
  made_request.headers = {"Content-Type: application/json", "Accept: text/event-stream",
                          "anthropic-version: 2023-06-01"};
  if (!settings.key.empty()) made_request.headers.push_back("x-api-key: " + settings.key);
  add_headers(settings, made_request.headers);
  return made_request;
}

} // namespace quell::integrations
