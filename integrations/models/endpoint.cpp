// Builds a model's URL and checks whether the model can be asked at all.
#include "integrations/models/endpoint.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include <curl/curl.h>

#include "integrations/models/json.hpp"
#include "integrations/models/text.hpp"

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
  return failure("model_refused", "model \"" + settings.name + "\": its base_url is not an http or https URL (" + why +
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
    return fault{"model_refused", who + " does not say which model to ask for: set `model` in its configuration", {}};
  if (std::any_of(settings.key.begin(), settings.key.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7F; }))
    return fault{"model_refused",
                 who + ": its key holds white space or other characters that no key has: check the file or variable "
                       "that it comes from",
                 {}};
  if (settings.max_tokens == 0) return fault{"model_refused", who + ": max_tokens is 0", {}};
  return std::nullopt;
}

std::optional<fault> wrong_offers(const std::vector<tool_offer>& tools, std::size_t most) {
  if (tools.size() > most)
    return fault{"model_refused",
                 std::to_string(tools.size()) + " tools are offered; this provider takes at most " +
                     std::to_string(most) + ": offer this agent fewer",
                 {}};
  std::set<std::string_view> names;
  for (const tool_offer& tool : tools) {
    const std::string who = "tool \"" + excerpt(tool.name, 80) + "\"";
    if (!valid_name(tool.name)) return fault{"model_refused", who + ": a name is 1 to 64 letters, digits, _ and -", {}};
    if (!names.insert(tool.name).second) return fault{"model_refused", who + " is offered twice", {}};
    const auto schema = parse_json(tool.input_schema);
    if (!blank(tool.input_schema) && (!schema || !schema->is_object()))
      return fault{"model_refused", who + ": its input schema is not a JSON object", {}};
  }
  return std::nullopt;
}

} // namespace quell::integrations
