// Reads a message: the text of its parts. Files are not taken.
#include "gateway/a2a/send_body.hpp"

#include "gateway/compat/prior_messages.hpp"
#include "protocol/blanks.hpp"

namespace quell::controller::http::a2a {

namespace {

using nlohmann::json;

const json* member(const json& of, const char* name) {
  if (!of.is_object()) return nullptr;
  const auto at = of.find(name);
  return at == of.end() || at->is_null() ? nullptr : &*at;
}

class message_reader {
 public:
  void complain(std::string pointer, std::string message) {
    errors_.push_back({error_code::invalid_field, std::move(pointer), std::move(message)});
  }

  std::optional<std::string> text(const json& of, const char* name, const std::string& pointer, std::size_t most) {
    const auto* found = member(of, name);
    if (!found) return std::nullopt;
    if (!found->is_string() || found->get_ref<const std::string&>().size() > most ||
        found->get_ref<const std::string&>().find('\0') != std::string::npos) {
      complain(pointer + name, "must be a text of at most " + std::to_string(most) + " bytes");
      return std::nullopt;
    }
    auto value = found->get<std::string>();
    if (value.empty()) return std::nullopt; // in ProtoJSON the same as absent
    return value;
  }

  bool flag(const json& of, const char* name, const std::string& pointer) {
    const auto* found = member(of, name);
    if (!found) return false;
    if (!found->is_boolean()) complain(pointer + name, "must be true or false");
    return found->is_boolean() && found->get<bool>();
  }

  std::string parts(const json& message) {
    const auto* found = member(message, "parts");
    if (!found || !found->is_array() || found->empty()) {
      complain("message.parts", "must have at least one part");
      return {};
    }
    std::string text;
    for (const auto& part : *found) {
      const auto* words = member(part, "text");
      const auto* data = part.is_object() && part.contains("data") ? &part.at("data") : nullptr;
      if (member(part, "raw") || member(part, "url"))
        throw a2a_error{content_type_not_supported, "files are not taken; send parts with text or data"};
      if (!text.empty()) text += "\n";
      if (words && words->is_string())
        text += words->get_ref<const std::string&>();
      else if (data)
        text += data->dump(-1, ' ', false, json::error_handler_t::replace);
      else
        complain("message.parts", "each part must have text or data");
    }
    if (text.size() > max_message_bytes) complain("message.parts", "together are larger than 64 KiB");
    if (is_blank(text)) complain("message.parts", "have no text");
    if (text.find('\0') != std::string::npos) complain("message.parts", "must not contain NUL");
    return text;
  }

  void finish() {
    if (!errors_.empty()) throw a2a_error{invalid_params, "the parameters are not valid", std::move(errors_)};
  }

 private:
  std::vector<field_error> errors_;
};

} // namespace

send_request read_send(const json& params) {
  message_reader fields;
  send_request found;
  const auto* message = member(params, "message");
  if (!message || !message->is_object()) {
    fields.complain("message", "is missing");
    fields.finish();
  }
  found.message_id = fields.text(*message, "messageId", "message.", max_id_bytes).value_or("");
  if (found.message_id.empty()) fields.complain("message.messageId", "is missing: it makes a repeat recognizable");
  found.context = fields.text(*message, "contextId", "message.", max_id_bytes);
  found.task = fields.text(*message, "taskId", "message.", max_id_bytes);
  const auto role = fields.text(*message, "role", "message.", 32);
  if (role != "ROLE_USER") fields.complain("message.role", "must be ROLE_USER");
  found.text = fields.parts(*message);
  if (const auto* configuration = member(params, "configuration")) {
    found.returns_at_once = fields.flag(*configuration, "returnImmediately", "configuration.");
    if (const auto* push = member(*configuration, "taskPushNotificationConfig")) {
      found.push = read_push_config(*push);
      if (!member(*push, "id")) found.push->id.clear(); // a repeat of the message must not make a second one
    }
  }
  fields.finish();
  return found;
}

std::string needed_text(const json& params, const char* name) {
  message_reader fields;
  auto found = fields.text(params, name, "", max_id_bytes);
  if (!found) fields.complain(name, "is missing");
  fields.finish();
  return *found;
}

} // namespace quell::controller::http::a2a
