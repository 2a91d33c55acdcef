// The fields that the settings of a model put into its requests, in each dialect, and which of them do not fit.
#include <catch2/catch.hpp>

#include "integrations/models/json.hpp"
#include "integrations/models/message_rules.hpp"
#include "integrations/models/translator.hpp"
#include "tests/integrations/models/event_recorder.hpp"

using namespace quell;
using namespace quell::integrations;
using quell::testing::settings_for;

namespace {

result<http_request> request_for(const model_settings& settings, const model_request& request) {
  if (settings.provider == provider::anthropic) return anthropic_request(settings, request);
  return settings.provider == provider::responses ? responses_request(settings, request)
                                                  : openai_request(settings, request);
}

json body_of(const model_settings& settings, const model_request& request) {
  const auto made = request_for(settings, request);
  if (!made) FAIL(made.error().detail);
  if (settings.provider != provider::responses)
    if (const auto broken = broken_rule(settings.provider, made->body)) FAIL(*broken << " in " << made->body);
  return *parse_json(made->body);
}

model_settings model(provider whose, answer_settings answer = {}) {
  auto settings = settings_for("https://host.test/v1", whose);
  settings.answer = std::move(answer);
  return settings;
}

model_request first_ask() {
  model_request request;
  request.instructions = "Be brief.";
  request.tools = {{"exec", "runs", "{}"}, {"read", "", "{}"}};
  request.messages = {user_message{"hello"}};
  return request;
}

const thinking_block sealed{"m-1", R"({"type":"thinking","thinking":"Hm.","signature":"sig=="})"};

/// The request that answers calls; `thinking` is of the answer that made them.
model_request with_results(std::vector<thinking_block> thinking) {
  auto request = first_ask();
  assistant_message answer{"I look.", {{"c1", "exec", "{}"}}, false};
  answer.thinking = std::move(thinking);
  request.messages.emplace_back(std::move(answer));
  request.messages.emplace_back(tool_results{{{"c1", "exec", true, false, "{\"ok\":true}"}}});
  return request;
}

std::string refusal_of(const model_settings& settings) {
  const auto made = request_for(settings, first_ask());
  return made ? "(accepted)" : made.error().detail;
}

std::size_t marks(const json& value) {
  std::size_t count = value.is_object() && value.contains("cache_control") ? 1 : 0;
  if (value.is_structured())
    for (const json& inner : value) count += marks(inner);
  return count;
}

} // namespace

TEST_CASE("temperature, top_p, a schema and an effort are said in each dialect's words") {
  answer_settings how;
  how.temperature = 0.5;
  how.effort = "low";
  how.schema = R"({"type":"object","properties":{"a":{"type":"string"}}})";
  const json schema = *parse_json(how.schema);

  const json anthropic = body_of(model(provider::anthropic, how), first_ask());
  CHECK(anthropic["temperature"] == 0.5);
  CHECK(anthropic["output_config"] ==
        json{{"effort", "low"}, {"format", {{"type", "json_schema"}, {"schema", schema}}}});
  how.top_p = 0.9;
  const json openai = body_of(model(provider::openai, how), first_ask());
  CHECK(openai["temperature"] == 0.5);
  CHECK(openai["top_p"] == 0.9);
  CHECK(openai["reasoning_effort"] == "low");
  CHECK(openai["response_format"]["type"] == "json_schema");
  CHECK(openai["response_format"]["json_schema"]["schema"] == schema);
  const json responses = body_of(model(provider::responses, how), first_ask());
  CHECK(responses["reasoning"]["effort"] == "low");
  CHECK(responses["include"] == json::array({"reasoning.encrypted_content"}));
  CHECK(responses["text"]["format"]["schema"] == schema);
  CHECK(responses["store"] == false);

  // Nothing is said that is not set.
  for (const auto whose : {provider::anthropic, provider::openai, provider::responses}) {
    const json plain = body_of(model(whose), first_ask());
    for (const char* key : {"temperature", "top_p", "reasoning_effort", "reasoning", "include", "response_format",
                            "text", "output_config", "thinking", "tool_choice"}) {
      INFO(key);
      CHECK_FALSE(plain.contains(key));
    }
  }
  answer_settings object;
  object.json = true;
  CHECK(body_of(model(provider::openai, object), first_ask())["response_format"]["type"] == "json_object");
}

TEST_CASE("a forced tool is forced once for each message, and only if it is offered") {
  answer_settings how;
  how.tool_choice = "exec";
  CHECK(body_of(model(provider::anthropic, how), first_ask())["tool_choice"] ==
        json{{"type", "tool"}, {"name", "exec"}});
  CHECK(body_of(model(provider::openai, how), first_ask())["tool_choice"]["function"]["name"] == "exec");
  CHECK(body_of(model(provider::responses, how), first_ask())["tool_choice"]["name"] == "exec");
  for (const auto whose : {provider::anthropic, provider::openai, provider::responses})
    CHECK_FALSE(body_of(model(whose, how), with_results({})).contains("tool_choice"));
  how.tool_choice = "write";
  CHECK_FALSE(body_of(model(provider::openai, how), first_ask()).contains("tool_choice"));
  how.tool_choice = "any";
  CHECK(body_of(model(provider::anthropic, how), first_ask())["tool_choice"]["type"] == "any");
  CHECK(body_of(model(provider::openai, how), first_ask())["tool_choice"] == "required");
  how.tool_choice = "none"; // not forced, so it holds for the whole turn
  CHECK(body_of(model(provider::openai, how), with_results({}))["tool_choice"] == "none");
}

TEST_CASE("Anthropic gets signed thinking back with the results of its calls, and never without") {
  answer_settings how;
  how.thinking_tokens = 2000;
  const json body = body_of(model(provider::anthropic, how), with_results({sealed}));
  CHECK(body["thinking"] == json{{"type", "enabled"}, {"budget_tokens", 2000}});
  CHECK(body["messages"][1]["content"][0] == *parse_json(sealed.block));
  CHECK(body["messages"][1]["content"][1]["type"] == "text");

  // After a restart the blocks are gone, and another model's are worth nothing: that request goes without thinking.
  CHECK_FALSE(body_of(model(provider::anthropic, how), with_results({})).contains("thinking"));
  auto foreign = sealed;
  foreign.model = "another";
  const json after_fallback = body_of(model(provider::anthropic, how), with_results({foreign}));
  CHECK_FALSE(after_fallback.contains("thinking"));
  CHECK(after_fallback["messages"][1]["content"][0]["type"] == "text");

  // Blocks of an earlier turn do not go back.
  auto later = with_results({sealed});
  later.messages.emplace_back(assistant_message{"Done.", {}, false});
  later.messages.emplace_back(user_message{"and now?"});
  const json next = body_of(model(provider::anthropic, how), later);
  CHECK(next.contains("thinking"));
  CHECK(next.dump().find("sig==") == std::string::npos);

  // A message that steers the turn comes behind the results, and is of the same turn.
  auto steered = with_results({sealed});
  steered.messages.emplace_back(user_message{"in French", {}, true});
  const json with_words = body_of(model(provider::anthropic, how), steered);
  CHECK(with_words.contains("thinking"));
  CHECK(with_words["messages"][1]["content"][0] == *parse_json(sealed.block));
  steered = with_results({});
  steered.messages.emplace_back(user_message{"in French", {}, true});
  CHECK_FALSE(body_of(model(provider::anthropic, how), steered).contains("thinking"));

  // So do those of a turn that was stopped in a call: the next message stands behind its results.
  auto stopped = with_results({});
  stopped.messages.emplace_back(user_message{"and now?"});
  CHECK_FALSE(body_of(model(provider::anthropic, how), stopped).contains("thinking"));

  // A model that does not think any more gets none, either.
  CHECK(body_of(model(provider::anthropic), with_results({sealed})).dump().find("sig==") == std::string::npos);
  how = {};
  how.adaptive_thinking = true;
  CHECK(body_of(model(provider::anthropic, how), first_ask())["thinking"]["type"] == "adaptive");
}

TEST_CASE("the Responses API gets its sealed reasoning back before the calls") {
  const thinking_block item{"m-1", R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed=="})"};
  const json body = body_of(model(provider::responses), with_results({item}));
  const json& input = body["input"];
  REQUIRE(input.size() == 5);
  CHECK(input[1]["encrypted_content"] == "sealed==");
  CHECK(input[2] == json{{"role", "assistant"}, {"content", "I look."}});
  CHECK(input[3]["type"] == "function_call");
  CHECK(input[4] == json{{"type", "function_call_output"}, {"call_id", "c1"}, {"output", "{\"ok\":true}"}});
  CHECK(body["tools"][0]["name"] == "exec");
}

TEST_CASE("thinking between texts and calls goes back where it was") {
  auto request = first_ask();
  assistant_message answer{"First. Then.", {{"c1", "exec", "{}"}, {"c2", "exec", "{}"}}, false};
  const auto thought = [](int n, std::size_t text, std::size_t calls) {
    const std::string id = std::to_string(n);
    return thinking_block{"m-1", R"({"type":"thinking","thinking":")" + id + R"(","signature":"s"})", text, calls};
  };
  answer.thinking = {thought(0, 0, 0), thought(1, 6, 0), thought(2, 12, 1)};
  request.messages.emplace_back(answer);
  request.messages.emplace_back(tool_results{{{"c1", "exec", true, false, "{}"}, {"c2", "exec", true, false, "{}"}}});
  answer_settings how;
  how.thinking_tokens = 2000;
  const auto kinds = [](const json& items) {
    std::string all;
    for (const json& one : items) {
      const std::string type = one.value("type", "");
      all += type == "thinking"                              ? "T" + one["thinking"].get<std::string>()
             : type == "tool_use" || type == "function_call" ? "C"
                                                             : "";
      if (type == "text") all += "(" + one["text"].get<std::string>() + ")";
      if (one.contains("role") && one["content"].is_string()) all += "(" + one["content"].get<std::string>() + ")";
    }
    return all;
  };
  const json body = body_of(model(provider::anthropic, how), request);
  CHECK(kinds(body["messages"][1]["content"]) == "T0(First.)T1( Then.)CT2C");
  const json input = body_of(model(provider::responses), request)["input"];
  CHECK(kinds(input).find("T0(First.)T1( Then.)CT2C") != std::string::npos);
}

TEST_CASE("Anthropic caches system, tools and history with at most four marks") {
  auto request = with_results({});
  const json body = body_of(model(provider::anthropic), request);
  CHECK(marks(body) == 4);
  CHECK(body["system"][0]["cache_control"]["type"] == "ephemeral");
  CHECK(body["tools"].back().contains("cache_control"));
  CHECK(body["messages"].back()["content"].back().contains("cache_control"));
  CHECK(body["messages"][0]["content"].back().contains("cache_control"));
  for (int i = 0; i < 20; ++i) {
    request.messages.emplace_back(assistant_message{"more", {}, false});
    request.messages.emplace_back(user_message{"and more"});
  }
  const json longer = body_of(model(provider::anthropic), request);
  CHECK(marks(longer) == 4);
  auto off = model(provider::anthropic);
  off.prompt_cache = false;
  CHECK(marks(body_of(off, request)) == 0);
  CHECK(body_of(off, request)["system"] == "Be brief.");
  CHECK(marks(body_of(model(provider::openai), request)) == 0);
}

TEST_CASE("extra headers are sent, behind ours") {
  for (const auto whose : {provider::anthropic, provider::openai, provider::responses}) {
    auto settings = model(whose);
    settings.headers = {{"X-Team", "red"}};
    const auto made = request_for(settings, first_ask());
    REQUIRE(made);
    CHECK(made->headers.back() == "X-Team: red");
  }
}

TEST_CASE("answer settings that do not fit each other or the provider are refused in words") {
  const auto with = [](provider whose, const std::function<void(answer_settings&)>& set) {
    answer_settings how;
    set(how);
    return refusal_of(model(whose, how));
  };
  using Catch::Contains;
  CHECK_THAT(with(provider::openai, [](auto& a) { a.thinking_tokens = 2000; }), Contains("effort"));
  CHECK_THAT(with(provider::anthropic, [](auto& a) { a.thinking_tokens = 8192; }), Contains("max_tokens"));
  CHECK_THAT(with(provider::anthropic, [](auto& a) { a.thinking_tokens = 2000, a.temperature = 0.2; }),
             Contains("no temperature"));
  CHECK_THAT(with(provider::anthropic, [](auto& a) { a.adaptive_thinking = true, a.tool_choice = "any"; }),
             Contains("cannot be forced"));
  CHECK_THAT(with(provider::anthropic, [](auto& a) { a.temperature = 1.5; }), Contains("from 0 to 1"));
  CHECK_THAT(with(provider::anthropic, [](auto& a) { a.json = true; }), Contains("response_schema"));
  CHECK_THAT(with(provider::openai, [](auto& a) { a.schema = "no json"; }), Contains("not a JSON object"));
  CHECK(with(provider::openai, [](auto& a) { a.temperature = 1.5; }) == "(accepted)");
  CHECK(with(provider::openai, [](auto& a) { a.thinking_tokens = 0; }) == "(accepted)"); // off
}

TEST_CASE("an agent's settings win one by one, and a fallback model gets what it has") {
  answer_settings under, over;
  under.temperature = 0.2;
  under.top_p = 0.5;
  under.thinking_tokens = 4000;
  over.temperature = 0.9;
  over.thinking_tokens = 0;
  auto both = merged(over, under, provider::anthropic);
  CHECK(both.temperature == 0.9);
  CHECK(both.top_p == 0.5);
  CHECK_FALSE(both.thinks());
  over.thinking_tokens = 9000;
  CHECK(merged(over, under, provider::anthropic).thinking_tokens == 9000);
  CHECK_FALSE(merged(over, under, provider::openai).thinking_tokens.has_value());
}

TEST_CASE("tokens cost what they cost, with what the cache has to do with it") {
  token_prices prices{3, 15, 0.3, 3.75};
  CHECK(cost_of(prices, {1'000'000, 0, 0}) == 3'000'000'000);
  CHECK(cost_of(prices, {1'000'000, 100'000, 400'000, 500'000}) ==
        100'000ULL * 3'000 + 400'000ULL * 300 + 500'000ULL * 3'750 + 100'000ULL * 15'000);
  prices.cached.reset();
  CHECK(cost_of(prices, {10, 0, 10}) == 30'000);
  CHECK(cost_of(prices, {10, 0, 500}) == 30'000); // a server that counts oddly
  CHECK(cost_of({}, {10, 10, 10}) == 0);
}
