// Reads UI messages: the text and the images of their parts. The output of tools and reasoning is not sent to a model
// again.
#include "gateway/compat/ui_body.hpp"

#include "gateway/body.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::http {

namespace {

using nlohmann::json;

void read_parts(const json& message, const std::string& pointer, prior_message& into,
                std::vector<field_error>& errors) {
  const auto parts = message.find("parts");
  if (parts == message.end() || !parts->is_array()) {
    errors.push_back({error_code::invalid_field, pointer + "/parts", "must be a list of parts"});
    return;
  }
  std::size_t index = 0;
  for (const auto& part : *parts) {
    const auto place = pointer + "/parts/" + std::to_string(index++);
    if (!part.is_object()) continue;
    const auto type = part.find("type"), words = part.find("text");
    if (type == part.end() || !type->is_string()) continue;
    if (*type == "text" && words != part.end() && words->is_string()) into.text += words->get_ref<const std::string&>();
    if (*type == "file") add_image(part.contains("url") ? &part["url"] : nullptr, place + "/url", into, errors);
  }
}

/// An id of the page as the text of a label; "" for one that fits none.
std::string as_label(const json* id) {
  constexpr std::size_t most_characters = 128;
  if (!id || !id->is_string()) return {};
  const auto& text = id->get_ref<const std::string&>();
  return code_points(text) <= most_characters && text.find('\0') == std::string::npos ? text : std::string();
}

} // namespace

tl::expected<ui_request, problem> read_ui_chat(std::string_view text) {
  const auto body = parse_body(text);
  if (!body) return tl::unexpected(body.error());
  std::vector<field_error> errors;
  body_reader fields(*body, "", errors);
  ui_request found;
  found.agent = fields.text("agent", 1, 64).value_or("");
  found.scope = fields.scope("scope");
  found.author = fields.person("author");
  found.chat = as_label(fields.take("id"));
  const auto changed = as_label(fields.take("messageId"));
  const auto* trigger = fields.take("trigger");
  found.regenerates = trigger && *trigger == "regenerate-message";
  const auto* messages = fields.take("messages");
  if (messages && messages->is_array() && !messages->empty() && messages->back().is_object())
    if (const auto id = messages->back().find("id"); id != messages->back().end()) found.message = as_label(&*id);
  // Each question has an id of its own, and each answer: the one that is asked again is gone afterwards.
  if (!found.chat.empty()) found.request = found.regenerates ? changed : found.message;
  found.edits = !found.regenerates && !changed.empty() && changed == found.message;
  const auto on_disconnect = fields.text("on_disconnect", 1, 16).value_or("cancel");
  if (on_disconnect != "cancel" && on_disconnect != "continue")
    fields.complain("on_disconnect", "must be cancel or continue");
  found.outlives_client = on_disconnect == "continue";
  found.conversation = read_conversation(messages, read_parts, errors);
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  return found;
}

} // namespace quell::controller::http
