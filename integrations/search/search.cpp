// The three providers differ in where the query, the key and the list of results stand.
#include "integrations/search/search.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "protocol/utf8.hpp"

namespace quell::integrations {

using nlohmann::json;
using engine = search_settings::provider;

namespace {

constexpr std::size_t most_title_bytes = 300, most_page_url_bytes = 2048, most_snippet_bytes = 1000,
                      most_answer_bytes = 2 << 20;
constexpr milliseconds search_connect_timeout{5'000}, search_timeout{60'000};

std::string text_field(const json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::string line_of(std::string text, std::size_t most) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  text.resize(utf8_prefix(text, most).size());
  return text;
}

/// The list of results, or nullptr.
const json* results_in(const json& whole, engine by) {
  if (!whole.is_object()) return nullptr;
  const json* holder = &whole;
  if (by == engine::brave) {
    const auto web = whole.find("web");
    if (web == whole.end()) return nullptr;
    holder = &*web;
  }
  if (!holder->is_object()) return nullptr;
  const auto list = holder->find("results");
  return list != holder->end() && list->is_array() ? &*list : nullptr;
}

std::string base_of(const search_settings& settings) {
  if (!settings.url.empty()) return settings.url;
  return settings.by == engine::brave ? "https://api.search.brave.com/res/v1/web/search"
                                      : "https://api.tavily.com/search";
}

} // namespace

const char* name_of(engine by) {
  switch (by) {
  case engine::searxng:
    return "searxng";
  case engine::brave:
    return "brave";
  case engine::tavily:
    return "tavily";
  case engine::none:
    break;
  }
  return "";
}

engine search_provider_named(const std::string& name) {
  for (const auto one : {engine::searxng, engine::brave, engine::tavily})
    if (name == name_of(one)) return one;
  return engine::none;
}

chat::web_request search_request(const search_settings& settings, const std::string& query, std::size_t count) {
  chat::web_request r;
  r.connect_timeout = search_connect_timeout;
  r.timeout = search_timeout;
  r.most_body = most_answer_bytes;
  r.headers = {"Accept: application/json"};
  const auto wanted = std::min(count, most_search_results);
  switch (settings.by) {
  case engine::searxng: {
    auto base = base_of(settings);
    while (base.ends_with('/')) base.pop_back();
    r.method = "GET";
    r.url = base + "/search?format=json&q=" + chat::form_encoded(query);
    if (!settings.key.empty()) r.headers.push_back("Authorization: Bearer " + settings.key);
    break;
  }
  case engine::brave:
    r.method = "GET";
    r.url = base_of(settings) + "?text_decorations=false&count=" + std::to_string(wanted) +
            "&q=" + chat::form_encoded(query);
    r.headers.push_back("X-Subscription-Token: " + settings.key);
    break;
  case engine::tavily:
    r.url = base_of(settings);
    r.headers.push_back("Content-Type: application/json");
    r.headers.push_back("Authorization: Bearer " + settings.key);
    r.body = json{{"query", query}, {"max_results", wanted}}.dump(-1, ' ', false, json::error_handler_t::replace);
    break;
  case engine::none:
    break;
  }
  return r;
}

result<std::vector<found_page>> read_search(const search_settings& settings, const chat::web_response& answer,
                                            std::size_t count) {
  const std::string service = name_of(settings.by);
  if (answer.what != chat::web_end::answered)
    return failure("search_failed", "the search service (" + service +
                                        ") cannot be reached or did not finish its "
                                        "answer; try once more, or go on without");
  if (answer.status == 429)
    return failure(error_code::rate_limited, "the search service takes no more searches now; try later");
  if (answer.status == 401 || answer.status == 403)
    return failure("search_refused", "the search service refuses quell's key, or its JSON format is switched off; an "
                                     "admin must look at [web_search]");
  if (!answer.is_good())
    return failure("search_failed", "the search service answered with status " + std::to_string(answer.status));
  const auto whole = json::parse(answer.body, nullptr, false);
  const auto* list = results_in(whole, settings.by);
  // Brave leaves the list out if it is empty.
  if (!list && settings.by == engine::brave && whole.is_object()) return std::vector<found_page>{};
  if (!list) return failure("search_failed", "the search service gave an answer that is not a list of results");
  std::vector<found_page> found;
  for (const auto& one : *list) {
    if (found.size() >= std::min(count, most_search_results)) break;
    if (!one.is_object()) continue;
    found_page page;
    page.url = text_field(one, "url");
    const bool is_web = page.url.starts_with("http://") || page.url.starts_with("https://");
    if (!is_web || page.url.size() > most_page_url_bytes) continue;
    page.url = line_of(std::move(page.url), most_page_url_bytes);
    page.title = line_of(text_field(one, "title"), most_title_bytes);
    page.snippet =
        line_of(text_field(one, settings.by == engine::brave ? "description" : "content"), most_snippet_bytes);
    found.push_back(std::move(page));
  }
  return found;
}

} // namespace quell::integrations
