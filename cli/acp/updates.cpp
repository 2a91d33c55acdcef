// Events, stored messages and prompts in the shapes of ACP.
#include "cli/acp/updates.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "cli/fields.hpp"
#include "cli/turn_view.hpp"
#include "protocol/attachment.hpp"
#include "protocol/encoding.hpp"
#include "protocol/utf8.hpp"

namespace quell::cli::acp {
namespace {

constexpr std::size_t most_shown_bytes = 8 * 1024;
constexpr std::size_t most_standing_bytes = 16 * 1024; ///< of the input of a call that is allowed for longer

json text_block(std::string_view text) { return {{"type", "text"}, {"text", text}}; }

json chunk(const char* kind, std::string_view text) { return {{"sessionUpdate", kind}, {"content", text_block(text)}}; }

struct kind_of_tool {
  std::string_view name, kind;
};
constexpr auto kinds = std::to_array<kind_of_tool>({{"read", "read"},
                                                    {"list", "read"},
                                                    {"search", "search"},
                                                    {"find", "search"},
                                                    {"grep", "search"},
                                                    {"write", "edit"},
                                                    {"edit", "edit"},
                                                    {"exec", "execute"},
                                                    {"browser", "fetch"},
                                                    {"web_fetch", "fetch"},
                                                    {"web_search", "search"}});

std::string_view kind_of(std::string_view tool) {
  for (const auto& one : kinds)
    if (one.name == tool) return one.kind;
  return "other";
}

json call_shown(const std::string& id, const std::string& name, const json& input, const char* status) {
  return {{"sessionUpdate", "tool_call"}, {"toolCallId", id}, {"title", call_text(name, input)},
          {"kind", kind_of(name)},        {"status", status}, {"rawInput", input}};
}

json call_ended(const std::string& id, bool ok, const json& result) {
  auto text = result.is_string() ? result.get<std::string>() : to_line(result);
  text = std::string(utf8_prefix(text, most_shown_bytes));
  return {{"sessionUpdate", "tool_call_update"},
          {"toolCallId", id},
          {"status", ok ? "completed" : "failed"},
          {"content", json::array({{{"type", "content"}, {"content", text_block(text)}}})},
          {"rawOutput", result}};
}

/// One option for each answer that is known in advance to what an agent asks.
json answers_of(const json& field, std::map<std::string, json>& values) {
  auto options = json::array();
  auto known = member(field, "enum");
  if (!known.is_array()) known = field.contains("default") ? json::array({field["default"]}) : json::array();
  for (const auto& one : known) {
    if (!one.is_string()) continue;
    const auto id = "answer-" + std::to_string(options.size() + 1);
    values[id] = {{"answer", one}};
    options.push_back({{"optionId", id}, {"name", one}, {"kind", "allow_once"}});
  }
  return options;
}

} // namespace

std::string turn_updates::call_key(const json& event) const {
  return text_of(event, "operation") + " " + text_of(member(event, "data"), "call");
}

std::vector<json> turn_updates::text_update(std::uint64_t offset, const std::string& text) {
  const auto length = code_points(text);
  if (offset + length <= shown_) return {};
  const auto fresh = offset < shown_ ? std::string(without_characters(text, shown_ - offset)) : text;
  shown_ = offset + length;
  return {chunk("agent_message_chunk", fresh)};
}

std::vector<json> turn_updates::rest(const std::string& whole_text) { return text_update(0, whole_text); }

const char* name_of(editor_request what) {
  return what == editor_request::form ? "elicitation/create" : "session/request_permission";
}

human_question turn_updates::question(const json& event, editor_shows editor) const {
  const auto& data = member(event, "data");
  const auto& question = member(data, "question");
  const bool is_agents = text_of(question, "asked_by") == "agent";
  human_question q{text_of(data, "operation"), question.is_object() ? text_of(question, "id") : "",
                   text_of(event, "scope"),    is_agents,
                   editor_request::permission, {}};
  if (editor == editor_shows::forms && member(question, "form").is_object()) {
    q.how = editor_request::form;
    q.params = {{"toolCallId", q.operation},
                {"mode", "form"},
                {"message", text_of(question, "message")},
                {"requestedSchema", question["form"]}};
    return q;
  }
  auto call = call_shown(q.operation, text_of(data, "name"), member(data, "input"), "pending");
  call.erase("sessionUpdate");
  if (question.is_object()) call["title"] = text_of(question, "message");
  auto options = json::array();
  if (is_agents)
    options = answers_of(member(member(member(question, "form"), "properties"), "answer"), q.values);
  else
    options.push_back({{"optionId", "allow"}, {"name", "Allow"}, {"kind", "allow_once"}});
  // Only what a rule asked about can be allowed for longer.
  if (question.is_null() && !text_of(data, "rule").empty() &&
      to_line(member(data, "input")).size() <= most_standing_bytes)
    options.push_back(
        {{"optionId", "always"}, {"name", "Allow this very call here for 8 hours"}, {"kind", "allow_always"}});
  // A permission request has no field for words of the person's own.
  if (is_agents && options.empty())
    call["title"] = text_of(question, "message") + " (answer with: quell say --scope " + q.scope + " …)";
  options.push_back({{"optionId", "reject"}, {"name", "Reject"}, {"kind", "reject_once"}});
  q.params = {{"toolCall", std::move(call)}, {"options", std::move(options)}};
  return q;
}

human_question once_only(human_question q) {
  auto kept = json::array();
  for (auto& option : q.params["options"])
    if (text_of(option, "optionId") != "always") kept.push_back(std::move(option));
  q.params["options"] = std::move(kept);
  return q;
}

human_decision decision_in(const human_question& q, const json& result) {
  human_decision none;
  none.is_none = true;
  if (!result.is_object()) return none;
  human_decision made;
  if (q.how == editor_request::form) {
    const auto action = text_of(result, "action");
    if (action != "accept" && action != "decline" && action != "cancel") return none;
    made.accepts = action == "accept";
    made.is_dismissed = action == "cancel";
    if (const auto& content = member(result, "content"); content.is_object()) made.values = content;
    return made;
  }
  // ACP's outcome `cancelled` is the answer of an editor that is about to send `session/cancel`. It is not a no.
  const auto option = text_of(member(result, "outcome"), "optionId");
  const auto& options = member(q.params, "options");
  if (text_of(member(result, "outcome"), "outcome") == "cancelled" || !options.is_array() ||
      std::none_of(options.begin(), options.end(), [&](const json& o) { return text_of(o, "optionId") == option; }))
    return none;
  made.accepts = option != "reject";
  made.is_always = option == "always";
  if (const auto values = q.values.find(option); values != q.values.end()) made.values = values->second;
  return made;
}

std::vector<json> turn_updates::take(const json& event) {
  const auto type = type_of(event);
  const auto& data = member(event, "data");
  if (type == event_type::approval_required) {
    const auto id = text_of(data, "operation");
    if (!member(data, "question").is_null() || !pending_.emplace(id, true).second) return {};
    return {call_shown(id, text_of(data, "name"), member(data, "input"), "pending")};
  }
  if (type == event_type::tool_start) {
    const auto id = text_of(data, "operation");
    if (!calls_.emplace(call_key(event), id).second) return {};
    if (pending_.contains(id))
      return {{{"sessionUpdate", "tool_call_update"}, {"toolCallId", id}, {"status", "in_progress"}}};
    return {call_shown(id, text_of(data, "name"), member(data, "input"), "in_progress")};
  }
  if (type == event_type::tool_result) {
    const auto known = calls_.find(call_key(event));
    if (known == calls_.end()) return {}; // it never began: a denial or a stop, which its own update tells
    return {call_ended(known->second, member(data, "ok") == true, member(data, "result"))};
  }
  if ((type == event_type::operation_cancelled || type == event_type::operation_failed) &&
      pending_.contains(text_of(event, "operation")))
    return {{{"sessionUpdate", "tool_call_update"}, {"toolCallId", text_of(event, "operation")}, {"status", "failed"}}};
  if (type == event_type::acknowledgement && !text_of(data, "text").empty())
    return {chunk("agent_message_chunk", text_of(data, "text"))};
  if (text_of(event, "operation") != turn_) return {};
  if (type == event_type::text_delta)
    return text_update(static_cast<std::uint64_t>(number_of(data, "offset")), text_of(data, "text"));
  if (type == event_type::thinking_delta) return {chunk("agent_thought_chunk", text_of(data, "text"))};
  if (type == event_type::turn_resumed) {
    // Shown text cannot be taken back: the replacement begins a paragraph of its own.
    const auto offset = static_cast<std::uint64_t>(number_of(data, "offset"));
    if (offset >= shown_) return {};
    shown_ = offset;
    return {chunk("agent_message_chunk", "\n\n")};
  }
  return {};
}

json call_note(const std::string& operation, const std::string& words) {
  return {{"sessionUpdate", "tool_call_update"},
          {"toolCallId", operation},
          {"content", json::array({{{"type", "content"}, {"content", text_block(words)}}})}};
}

std::vector<json> replayed(const json& message) {
  const auto role = text_of(message, "role"), text = text_of(message, "text");
  const auto turn = text_of(message, "turn");
  std::vector<json> updates;
  if (role == "user") {
    auto shown = text;
    if (const auto& files = member(message, "attachments"); files.is_array())
      for (const auto& file : files) {
        const attachment one{.blob = {},
                             .name = text_of(file, "name"),
                             .type = text_of(file, "type"),
                             .bytes = static_cast<std::uint64_t>(number_of(file, "bytes"))};
        shown += (shown.empty() ? "" : "\n") + attachment_line(one);
      }
    updates.push_back(chunk("user_message_chunk", shown));
  }
  if (role == "assistant" && !text.empty()) updates.push_back(chunk("agent_message_chunk", text));
  if (const auto& calls = member(message, "tool_calls"); calls.is_array())
    for (const auto& call : calls)
      updates.push_back(
          call_shown(turn + "/" + text_of(call, "call"), text_of(call, "name"), member(call, "input"), "in_progress"));
  if (const auto& results = member(message, "results"); results.is_array())
    for (const auto& one : results)
      updates.push_back(
          call_ended(turn + "/" + text_of(one, "call"), member(one, "ok") == true, member(one, "result")));
  return updates;
}

void shown_past::take(const json& message) {
  any_ = true;
  if (member(member(message, "summary"), "clear") == true) updates_.clear();
  const auto turn = text_of(message, "turn");
  const bool is_gone = member(message, "discarded") == true;
  if (is_gone && !turn.empty()) gone_.insert(turn); // with its answers, which come behind it
  if (is_gone || gone_.contains(turn)) return;
  for (auto& update : replayed(message)) updates_.push_back(std::move(update));
}

namespace {

/// The image of a block; nullopt with `why`. `number`: in its prompt, from 1.
std::optional<prompt_image> image_of(const json& block, std::size_t number, std::string& why) {
  prompt_image found;
  const auto which = "image " + std::to_string(number) + " ";
  found.type = plain_media_type(text_of(block, "mimeType"));
  if (media_kind_of(found.type) != media_kind::image) {
    why = which + "has a mimeType that is not taken; there are image/png, image/jpeg, image/gif and image/webp";
    return std::nullopt;
  }
  auto bytes = from_base64(text_of(block, "data"));
  if (!bytes || !check_media(found.type, *bytes)) {
    why = which + (bytes ? "holds bytes that are not " + found.type + ", as their beginning shows"
                         : "has data that is not padded base64");
    return std::nullopt;
  }
  const auto kind = found.type.substr(found.type.find('/') + 1);
  found.name = "image-" + std::to_string(number) + "." + (kind == "jpeg" ? "jpg" : kind);
  found.bytes = std::move(*bytes);
  return found;
}

} // namespace

std::optional<prompt_content> prompt_content_of(const json& blocks, std::string& why) {
  prompt_content found;
  auto& text = found.text;
  const auto part = [&text](const std::string& more) { text += (text.empty() ? "" : "\n") + more; };
  if (!blocks.is_array()) {
    why = "prompt must be a list of content blocks";
    return std::nullopt;
  }
  for (const auto& block : blocks) {
    const auto type = text_of(block, "type");
    const auto& resource = member(block, "resource");
    if (type == "text")
      part(text_of(block, "text"));
    else if (type == "resource_link")
      part("[" + text_of(block, "name") + "](" + text_of(block, "uri") + ")");
    else if (type == "resource" && member(resource, "text").is_string())
      part("<file uri=\"" + text_of(resource, "uri") + "\">\n" + text_of(resource, "text") + "\n</file>");
    else if (type == "image") {
      auto image = image_of(block, found.images.size() + 1, why);
      if (!image) return std::nullopt;
      if (found.images.size() == most_attachments) {
        why = "a prompt has at most " + std::to_string(most_attachments) + " images";
        return std::nullopt;
      }
      found.images.push_back(std::move(*image));
    } else {
      why = "a prompt may hold text, images, links and embedded texts, not " +
            (type.empty() ? "that" : type.substr(0, 32));
      return std::nullopt;
    }
  }
  return found;
}

std::string stop_reason_of(const std::string& ours) {
  if (ours == "length") return "max_tokens";
  return ours == "refusal" || ours == "content_filter" ? "refusal" : "end_turn";
}

} // namespace quell::cli::acp
