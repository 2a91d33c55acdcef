// Builds a model's URL and checks whether the model can be asked at all.
#include "integrations/models/endpoint.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include <curl/curl.h>

#include "integrations/models/json.hpp"
#include "integrations/models/text.hpp"
#include "protocol/failure_code.hpp"

namespace quell::integrations {
namespace {

struct url_closer {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using url_handle = std::unique_ptr<CURLU, url_closer>;

std::string part(CURLU* url, CURLUPart which) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, 0) != CURLUE_OK) return {};
  std::string copy = text;
  curl_free(text);
  return copy;
}

tl::unexpected<fault> bad_url(const model_settings& settings, const std::string& why) {
  return failure(failure_code::model_refused, "model \"" + settings.name +
                                                  "\": its base_url is not an http or https URL (" + why +
                                                  "); write it like https://host/v1");
}

} // namespace

result<endpoint> endpoint_of(const model_settings& settings, std::string_view otherwise, std::string_view path) {
  const url_handle url(curl_url());
  const std::string base = settings.base_url.empty() ? std::string(otherwise) : settings.base_url;
  if (const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, base.c_str(), 0); code != CURLUE_OK)
    return bad_url(settings, curl_url_strerror(code));
  if (const std::string scheme = part(url.get(), CURLUPART_SCHEME); scheme != "http" && scheme != "https")
    return bad_url(settings, "the scheme is \"" + excerpt(scheme, 20) + "\"");

  std::string whole = part(url.get(), CURLUPART_PATH);
  while (whole.ends_with('/')) whole.pop_back();
  if (whole.empty()) whole = "/v1";
  if (!whole.ends_with(path)) whole += path;
  curl_url_set(url.get(), CURLUPART_PATH, whole.c_str(), 0);
  curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);

  endpoint found;
  found.url = part(url.get(), CURLUPART_URL);
  found.host = part(url.get(), CURLUPART_HOST);
  for (const CURLUPart secret : {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_QUERY})
    curl_url_set(url.get(), secret, nullptr, 0);
  found.shown = part(url.get(), CURLUPART_URL);
  return found;
}

std::optional<fault> wrong_basics(const model_settings& settings) {
  const std::string who = "model \"" + settings.name + "\"";
  if (blank(settings.model))
    return failure_of(failure_code::model_refused,
                      who + " does not say which model to ask for: set `model` in its configuration");
  if (std::any_of(settings.key.begin(), settings.key.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7F; }))
    return failure_of(failure_code::model_refused,
                      who +
                          ": its key holds white space or other characters that no key has: check the file or variable "
                          "that it comes from");
  if (settings.max_tokens == 0) return failure_of(failure_code::model_refused, who + ": max_tokens is 0");
  return std::nullopt;
}

std::optional<fault> wrong_offers(const std::vector<tool_offer>& tools, std::size_t most) {
  if (tools.size() > most)
    return failure_of(failure_code::model_refused, std::to_string(tools.size()) +
                                                       " tools are offered; this provider takes at most " +
                                                       std::to_string(most) + ": offer this agent fewer");
  std::set<std::string_view> names;
  for (const tool_offer& tool : tools) {
    const std::string who = "tool \"" + excerpt(tool.name, 80) + "\"";
    if (!valid_name(tool.name))
      return failure_of(failure_code::model_refused, who + ": a name is 1 to 64 letters, digits, _ and -");
    if (!names.insert(tool.name).second) return failure_of(failure_code::model_refused, who + " is offered twice");
    const auto schema = parse_json(tool.input_schema);
    if (!blank(tool.input_schema) && (!schema || !schema->is_object()))
      return failure_of(failure_code::model_refused, who + ": its input schema is not a JSON object");
  }
  return std::nullopt;
}

void add_headers(const model_settings& settings, std::vector<std::string>& lines) {
  for (const auto& [name, value] : settings.headers) lines.push_back(name + ": " + value);
}

std::string tool_choice_of(const model_settings& settings, const model_request& request) {
  const std::string& choice = settings.answer.tool_choice;
  if (choice.empty() || request.tools.empty()) return {};
  if (choice == "auto" || choice == "none") return choice;
  const auto* last = request.messages.empty() ? nullptr : std::get_if<user_message>(&request.messages.back());
  if (!last || last->steers) return {};
  if (choice == "any") return choice;
  const bool is_offered = std::any_of(request.tools.begin(), request.tools.end(),
                                      [&](const tool_offer& tool) { return tool.name == choice; });
  return is_offered ? choice : std::string();
}

std::optional<fault> wrong_answer_settings(const model_settings& settings) {
  const auto wrong = [&](const std::string& what) -> std::optional<fault> {
    return failure_of(failure_code::model_refused, "model \"" + settings.name + "\": " + what);
  };
  const answer_settings& how = settings.answer;
  const bool is_anthropic = settings.provider == provider::anthropic;
  const double hottest = is_anthropic ? 1 : 2;
  if (how.temperature && (*how.temperature < 0 || *how.temperature > hottest))
    return wrong("temperature is from 0 to " + std::string(is_anthropic ? "1" : "2") + " here");
  if (how.top_p && (*how.top_p < 0 || *how.top_p > 1)) return wrong("top_p is from 0 to 1");
  if (!how.schema.empty()) {
    const auto schema = parse_json(how.schema);
    if (!schema || !schema->is_object()) return wrong("response_schema is not a JSON object");
    if (how.json) return wrong("response_format = \"json\" stands beside response_schema; keep one of them");
  }
  if (!is_anthropic) {
    if (how.thinks()) return wrong("thinking is for provider anthropic; here use effort");
    return std::nullopt;
  }
  if (how.json) return wrong("response_format = \"json\" does not exist here; give response_schema");
  if (how.temperature && how.top_p) return wrong("takes either temperature or top_p");
  if (how.thinks() && how.thinking_tokens && *how.thinking_tokens < 1024)
    return wrong("thinking is at least 1024 tokens");
  if (how.thinking_tokens && *how.thinking_tokens >= settings.max_tokens)
    return wrong("thinking must be less than max_tokens (" + std::to_string(settings.max_tokens) +
                 "), which counts it, too");
  if (how.thinks() && how.temperature && *how.temperature != 1)
    return wrong("a model that thinks takes no temperature");
  if (how.thinks() && how.top_p && *how.top_p < 0.95) return wrong("a model that thinks takes a top_p from 0.95 to 1");
  if (how.thinks() && !how.tool_choice.empty() && how.tool_choice != "auto" && how.tool_choice != "none")
    return wrong("a model that thinks cannot be forced to call a tool: tool_choice is auto or none");
  return std::nullopt;
}

} // namespace quell::integrations
