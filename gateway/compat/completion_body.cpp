// Reads a chat completion: what an agent decides by itself (sampling, length) is accepted and passed over; what would
// change the meaning of the answer is refused.
#include "gateway/compat/completion_body.hpp"

#include <array>

#include "gateway/body.hpp"

namespace quell::controller::http {

namespace {

using nlohmann::json;

/// A string, or a list of parts: texts, and images of a user.
void read_content(const json& message, const std::string& pointer, prior_message& into,
                  std::vector<field_error>& errors) {
  const auto at = message.find("content");
  if (at == message.end() || at->is_null()) return; // an assistant's message with calls alone
  if (at->is_string()) {
    into.text = at->get<std::string>();
    return;
  }
  if (!at->is_array()) {
    errors.push_back({error_code::invalid_field, pointer + "/content", "must be a text or a list of parts"});
    return;
  }
  std::size_t index = 0;
  for (const auto& part : *at) {
    const auto place = pointer + "/content/" + std::to_string(index++);
    const auto type = part.is_object() ? part.value("type", json()) : json();
    const auto words = part.is_object() ? part.find("text") : part.end();
    if ((type == "text" || type == "refusal") && words != part.end() && words->is_string())
      into.text += words->get_ref<const std::string&>();
    else if (type == "image_url") {
      const auto image = part.find("image_url");
      const auto* url =
          image != part.end() && image->is_object() && image->contains("url") ? &(*image)["url"] : nullptr;
      add_image(url, place + "/image_url/url", into, errors);
    } else {
      errors.push_back({error_code::invalid_field, place, "only parts of type text and image_url are taken"});
      break;
    }
  }
}

struct refused_member {
  const char* name;
  const char* why;
};
constexpr auto refused = std::to_array<refused_member>({
    {"tools", "agents of quell use their own tools ([[agents]] tools); leave it out"},
    {"functions", "agents of quell use their own tools ([[agents]] tools); leave it out"},
    {"stop", "is not supported; leave it out"},
    {"logprobs", "is not supported; leave it out"},
    {"audio", "is not supported; leave it out"},
    {"prediction", "is not supported; leave it out"},
});

bool says_nothing(const json& value) {
  return value.is_null() || value == false || ((value.is_array() || value.is_object()) && value.empty());
}

void check_refused(const json& body, std::vector<field_error>& errors) {
  for (const auto& [name, why] : refused)
    if (const auto at = body.find(name); at != body.end() && !says_nothing(*at))
      errors.push_back({error_code::invalid_field, std::string("/") + name, why});
  if (const auto n = body.find("n"); n != body.end() && *n != 1)
    errors.push_back({error_code::invalid_field, "/n", "must be 1: a turn has one answer"});
  const auto format = body.find("response_format");
  if (format != body.end() && format->is_object() && format->value("type", json("text")) != "text")
    errors.push_back({error_code::invalid_field, "/response_format", "only text is supported"});
}

bool flag_at(const json& body, const char* name, const std::string& pointer, std::vector<field_error>& errors) {
  const auto at = body.find(name);
  if (at == body.end()) return false;
  if (!at->is_boolean()) errors.push_back({error_code::invalid_field, pointer, "must be true or false"});
  return at->is_boolean() && at->get<bool>();
}

} // namespace

tl::expected<completion_request, problem> read_completion(std::string_view text) {
  const auto body = parse_body(text);
  if (!body) return tl::unexpected(body.error());
  std::vector<field_error> errors;
  completion_request found;
  const auto model = body->find("model");
  if (model != body->end() && model->is_string() && !model->get_ref<const std::string&>().empty())
    found.agent = model->get<std::string>();
  else
    errors.push_back({error_code::invalid_field, "/model", "is missing: the name of an agent"});
  found.streams = flag_at(*body, "stream", "/stream", errors);
  if (const auto options = body->find("stream_options"); options != body->end() && options->is_object())
    found.wants_usage = flag_at(*options, "include_usage", "/stream_options/include_usage", errors);
  if (const auto user = body->find("user"); user != body->end()) {
    const bool fits = user->is_string() && !user->get_ref<const std::string&>().empty() &&
                      user->get_ref<const std::string&>().size() <= 128;
    if (fits)
      found.user = user->get<std::string>();
    else
      errors.push_back({error_code::invalid_field, "/user", "must be a text of 1 to 128 bytes"});
  }
  check_refused(*body, errors);
  const auto messages = body->find("messages");
  found.conversation = read_conversation(messages == body->end() ? nullptr : &*messages, read_content, errors);
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  return found;
}

} // namespace quell::controller::http
