// Requests to search services, and what their answers say.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "integrations/search/search_client.hpp"

using namespace quell;
using namespace quell::integrations;
using nlohmann::json;
using provider = search_settings::provider;

namespace {

search_settings settings(provider by) {
  search_settings s;
  s.by = by;
  s.key = "of-no-value";
  if (by == provider::searxng) s.url = "http://search.example/base/";
  return s;
}

chat::web_response answer_of(const std::string& body, long status = 200) {
  chat::web_response r;
  r.what = chat::web_end::answered;
  r.status = status;
  r.body = body;
  return r;
}

json page(const std::string& url) { return {{"title", "T"}, {"url", url}, {"content", "C"}, {"description", "D"}}; }

std::string code_of(provider by, const chat::web_response& r) {
  const auto found = read_search(settings(by), r, 5);
  REQUIRE_FALSE(found);
  CHECK(found.error().detail.find("of-no-value") == std::string::npos);
  CHECK(found.error().detail.find("private-text") == std::string::npos);
  return found.error().code;
}

bool has_header(const chat::web_request& r, const std::string& line) {
  return std::find(r.headers.begin(), r.headers.end(), line) != r.headers.end();
}

} // namespace

TEST_CASE("each search service is asked in its own way, with the key in a header only", "[search]") {
  const auto searxng = search_request(settings(provider::searxng), "a b&c", 5);
  CHECK(searxng.method == "GET");
  CHECK(searxng.url.starts_with("http://search.example/base/search?format=json&q=a"));
  CHECK(searxng.url.find("&c") == std::string::npos);
  const auto brave = search_request(settings(provider::brave), "x", 5);
  CHECK(brave.url == "https://api.search.brave.com/res/v1/web/search?text_decorations=false&count=5&q=x");
  CHECK(has_header(brave, "X-Subscription-Token: of-no-value"));
  const auto tavily = search_request(settings(provider::tavily), "x", 500);
  CHECK(tavily.method == "POST");
  CHECK(json::parse(tavily.body) == json{{"query", "x"}, {"max_results", 20}});
  CHECK(has_header(tavily, "Authorization: Bearer of-no-value"));
  for (const auto& r : {searxng, brave, tavily}) {
    CHECK(r.url.find("of-no-value") == std::string::npos);
    CHECK(r.body.find("of-no-value") == std::string::npos);
  }
  CHECK(search_provider_named("brave") == provider::brave);
  CHECK(search_provider_named("bing") == provider::none);
  CHECK(search_provider_named("") == provider::none);
}

TEST_CASE("the pages of an answer are read, bounded in number and length", "[search]") {
  json list = json::array({page("javascript:alert(1)"), page("https://one.example/"), 7, json::object()});
  for (int i = 0; i < 100; ++i) list.push_back(page("http://many.example/" + std::to_string(i)));
  list[1]["title"] = std::string(5'000, 't') + "\n";
  list[1]["content"] = "two\nlines";
  const auto found = read_search(settings(provider::searxng), answer_of(json{{"results", list}}.dump()), 3);
  REQUIRE(found);
  REQUIRE(found->size() == 3);
  CHECK(found->at(0).url == "https://one.example/");
  CHECK(found->at(0).title.size() == 300);
  CHECK(found->at(0).snippet == "two lines");
  const auto brave = read_search(settings(provider::brave),
                                 answer_of(json{{"web", {{"results", {page("https://b.example/")}}}}}.dump()), 3);
  REQUIRE(brave);
  CHECK(brave->at(0).snippet == "D");
  CHECK(read_search(settings(provider::brave), answer_of("{}"), 3)->empty());
  CHECK(read_search(settings(provider::tavily), answer_of(R"({"results":[]})"), 3)->empty());
}

TEST_CASE("a search that failed says why, without the service's text", "[search]") {
  for (const auto by : {provider::searxng, provider::brave, provider::tavily}) {
    CHECK(code_of(by, answer_of("private-text", 500)) == "search_failed");
    CHECK(code_of(by, answer_of("private-text", 302)) == "search_failed");
    CHECK(code_of(by, answer_of("private-text", 401)) == "search_refused");
    CHECK(code_of(by, answer_of("private-text", 403)) == "search_refused");
    CHECK(code_of(by, answer_of("private-text", 429)) == "rate_limited");
    CHECK(code_of(by, answer_of("private-text")) == "search_failed");
    CHECK(code_of(by, answer_of("[]")) == "search_failed");
    CHECK(code_of(by, chat::web_response{}) == "search_failed");
  }
  CHECK(code_of(provider::tavily, answer_of(R"({"results":{"a":1}})")) == "search_failed");
}

TEST_CASE("a search client that has stopped answers at once", "[search]") {
  search_client client;
  client.cancel(7);
  client.stop();
  client.stop();
  std::string code;
  CHECK(client.search(settings(provider::brave), "x", 1, [&](const auto& found) { code = found.error().code; }) == 0);
  CHECK(code == "search_failed");
}
