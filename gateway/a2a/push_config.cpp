// Everything in it becomes a part of a request that quelld sends, so each value must fit its place there.
#include "gateway/a2a/push_config.hpp"

#include <algorithm>

#include "gateway/a2a_error.hpp"

namespace quell::controller::http::a2a {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t most_push_id_bytes = 64, most_push_url_bytes = 2048, most_token_bytes = 1024,
                      most_scheme_bytes = 32, most_credentials_bytes = 4096;

bool is_visible(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > 0x20 && c < 0x7F; });
}

bool is_header_value(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c < 0x7F; });
}

bool is_push_word(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

class push_reader {
 public:
  std::string text(const json& of, const char* name, const std::string& pointer, std::size_t most,
                   bool (*is_fit)(const std::string&), const char* must) {
    const auto at = of.find(name);
    if (at == of.end() || at->is_null()) return {};
    if (at->is_string())
      if (auto value = at->get<std::string>(); value.size() <= most && is_fit(value)) return value;
    complain(pointer + name, must);
    return {};
  }
  void complain(std::string pointer, std::string must) {
    errors_.push_back({error_code::invalid_field, std::move(pointer), std::move(must)});
  }
  void finish() {
    if (!errors_.empty()) throw a2a_error{invalid_params, "the parameters are not valid", std::move(errors_)};
  }

 private:
  std::vector<field_error> errors_;
};

std::string file_member(const json& of, const char* name) {
  const auto at = of.find(name);
  return at != of.end() && at->is_string() ? at->get<std::string>() : std::string();
}

} // namespace

push_config read_push_config(const json& from) {
  push_reader fields;
  push_config config;
  if (!from.is_object()) {
    fields.complain("taskPushNotificationConfig", "must be an object");
    fields.finish();
  }
  config.id =
      fields.text(from, "id", "", most_push_id_bytes, is_push_word, "must be at most 64 letters, digits and . _ -");
  config.url = fields.text(from, "url", "", most_push_url_bytes, is_visible, "must be a URL of at most 2048 bytes");
  if (!config.url.starts_with("https://") && !config.url.starts_with("http://"))
    fields.complain("url", "must begin with http:// or https://");
  config.token =
      fields.text(from, "token", "", most_token_bytes, is_visible, "must be at most 1024 visible characters of ASCII");
  const auto way = from.find("authentication");
  if (way != from.end() && way->is_object()) {
    config.scheme = fields.text(*way, "scheme", "authentication.", most_scheme_bytes, is_push_word,
                                "must be the name of a scheme, such as Bearer");
    config.credentials = fields.text(*way, "credentials", "authentication.", most_credentials_bytes, is_header_value,
                                     "must be at most 4096 characters of ASCII on one line");
    if (config.scheme.empty()) fields.complain("authentication.scheme", "is missing");
  } else if (way != from.end() && !way->is_null()) {
    fields.complain("authentication", "must be an object");
  }
  fields.finish();
  if (config.id.empty()) config.id = operation_id::fresh().text();
  return config;
}

ordered_json push_config_json(const push_config& config) {
  ordered_json shown = {{"id", config.id}, {"taskId", config.task.text()}, {"url", config.url}};
  if (!config.token.empty()) shown["token"] = config.token;
  if (!config.scheme.empty())
    shown["authentication"] = {{"scheme", config.scheme}, {"credentials", config.credentials}};
  return shown;
}

std::string push_file_text(const push_config& config) {
  auto whole = push_config_json(config);
  whole["by"] = config.by;
  whole["agent"] = config.agent;
  whole["base"] = config.base;
  whole["last"] = config.last;
  return whole.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<push_config> read_push_file(const std::string& text) {
  const auto whole = json::parse(text, nullptr, false);
  if (!whole.is_object()) return std::nullopt;
  const auto task = operation_id::parse(file_member(whole, "taskId"));
  if (!task) return std::nullopt;
  push_config config;
  try {
    config = read_push_config(whole);
  } catch (const a2a_error&) {
    return std::nullopt;
  }
  config.task = *task;
  config.by = file_member(whole, "by");
  config.agent = file_member(whole, "agent");
  config.base = file_member(whole, "base");
  config.last = file_member(whole, "last");
  return config;
}

} // namespace quell::controller::http::a2a
