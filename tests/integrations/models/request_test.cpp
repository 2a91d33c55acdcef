// Requests to models: for every conversation the messages keep both providers' rules.
#include <random>

#include <catch2/catch.hpp>

#include "integrations/models/history.hpp"
#include "integrations/models/json.hpp"
#include "integrations/models/message_rules.hpp"
#include "integrations/models/translator.hpp"
#include "tests/integrations/models/event_recorder.hpp"

using namespace quell;
using namespace quell::integrations;
using quell::testing::settings_for;

namespace {

json body_of(provider whose, const model_request& request) {
  auto settings = settings_for("https://host.test/v1", whose);
  settings.prompt_cache = false; // its marks: answer_settings_test.cpp
  const auto made =
      whose == provider::anthropic ? anthropic_request(settings, request) : openai_request(settings, request);
  if (!made) FAIL(made.error().detail);
  if (const auto broken = broken_rule(whose, made->body)) FAIL(*broken << " in " << made->body);
  return *parse_json(made->body);
}

model_request talk() {
  model_request request;
  request.instructions = "Be brief.";
  request.tools = {{"exec", "runs", R"({"type":"object","properties":{"cmd":{"type":"string"}}})"}, {"read", "", ""}};
  request.messages = {user_message{"hello"},
                      assistant_message{"Let me see", {{"c1", "exec", "{\"cmd\":\"ls\"}"}, {"c2", "read", ""}}, false},
                      tool_results{{{"c1", "exec", true, false, "{\"ok\":true}"},
                                    {"c2", "read", false, true, "{\"ok\":false,\"cancelled\":true}"}}},
                      assistant_message{"half an ans", {}, true},
                      user_message{"go on"},
                      assistant_message{"", {}, true}, // cut before its first text
                      user_message{"please"}};
  return request;
}

} // namespace

TEST_CASE("Anthropic gets blocks, with results as error results where they are none") {
  const json body = body_of(provider::anthropic, talk());
  CHECK(body["system"] == "Be brief.");
  CHECK(body["stream"] == true);
  CHECK(body["max_tokens"] == 8192);
  CHECK(body["tools"][0]["input_schema"]["properties"]["cmd"]["type"] == "string");
  CHECK(body["tools"][1]["input_schema"]["type"] == "object");
  const json& messages = body["messages"];
  REQUIRE(messages.size() == 5);
  CHECK(messages[1]["content"] == *parse_json(R"([{"type":"text","text":"Let me see"},
    {"type":"tool_use","id":"c1","name":"exec","input":{"cmd":"ls"}},{"type":"tool_use","id":"c2","name":"read","input":{}}])"));
  CHECK(messages[2]["content"] == *parse_json(R"([{"type":"tool_result","tool_use_id":"c1","content":"{\"ok\":true}"},
    {"type":"tool_result","tool_use_id":"c2","content":"{\"ok\":false,\"cancelled\":true}","is_error":true}])"));
  CHECK(messages[3]["content"][0]["text"] == "half an ans");
  CHECK(messages[4]["content"].size() == 1);
  CHECK(messages[4]["content"][0]["text"] == "go on\n\n[quell: The message above got no answer.]\n\nplease");
}

TEST_CASE("OpenAI gets roles, with results as tool messages") {
  const json body = body_of(provider::openai, talk());
  CHECK(body["stream_options"]["include_usage"] == true);
  CHECK(body["max_tokens"] == 8192);
  const json& messages = body["messages"];
  REQUIRE(messages.size() == 7);
  CHECK(messages[0] == json{{"role", "system"}, {"content", "Be brief."}});
  CHECK(messages[2]["tool_calls"][0]["function"] == json{{"name", "exec"}, {"arguments", "{\"cmd\":\"ls\"}"}});
  CHECK(messages[2]["tool_calls"][1]["function"]["arguments"] == "{}");
  CHECK(messages[4] ==
        json{{"role", "tool"}, {"tool_call_id", "c2"}, {"content", "{\"ok\":false,\"cancelled\":true}"}});
  CHECK(messages[6]["content"] == "go on\n\n[quell: The message above got no answer.]\n\nplease");
}

TEST_CASE("a history with calls and no tools to offer still declares them to Anthropic, closed") {
  auto request = talk();
  request.tools.clear();
  const json body = body_of(provider::anthropic, request);
  CHECK(body["tools"].size() == 2);
  CHECK(body["tool_choice"]["type"] == "none");
  body_of(provider::openai, request);
}

TEST_CASE("input that is not a JSON object goes back to the model as what it wrote") {
  auto request = talk();
  std::get<assistant_message>(request.messages[1]).calls[0].input = "{\"cmd\": \"l";
  CHECK(body_of(provider::anthropic, request)["messages"][1]["content"][1]["input"]["invalid_input"] ==
        "{\"cmd\": \"l");
  CHECK(parse_json(body_of(provider::openai, request)["messages"][2]["tool_calls"][0]["function"]["arguments"]
                       .get<std::string>())
            ->contains("invalid_input"));
}

TEST_CASE("any conversation, however broken, becomes a request that keeps the rules") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto pick = [&](unsigned below) { return std::uniform_int_distribution<unsigned>(0, below - 1)(random); };
  const std::string texts[] = {
      "", " \n", "hello", "ä😀", "bad \xFF bytes", std::string("nul \0 inside", 12), "\"quoted\" \\ {"};
  const std::string ids[] = {"a", "b", "", "call:1", std::string(200, 'x'), "ä", "call_1"};
  const std::string names[] = {"exec", "read.file", "", std::string(300, 'n'), "\xFF"};
  const std::string inputs[] = {"",        "{}",   "{\"a\":[1,{\"b\":null}]}", "[1]", "not json",
                                "{\"a\":", "\xFF", std::string(5000, '[')};
  for (int round = 0; round < 400; ++round) {
    model_request request;
    if (pick(2)) request.instructions = texts[pick(7)];
    if (pick(2)) request.tools = {{"exec", texts[pick(7)], ""}};
    for (unsigned i = pick(8); i > 0; --i) {
      if (const unsigned kind = pick(3); kind == 0) {
        request.messages.emplace_back(user_message{texts[pick(7)]});
      } else if (kind == 1) {
        assistant_message message{texts[pick(7)], {}, pick(2) == 0};
        for (unsigned n = pick(4); n > 0; --n) message.calls.push_back({ids[pick(7)], names[pick(5)], inputs[pick(8)]});
        request.messages.emplace_back(std::move(message));
      } else {
        tool_results results;
        for (unsigned n = pick(4); n > 0; --n)
          results.results.push_back({ids[pick(7)], names[pick(5)], pick(2) == 0, pick(2) == 0, texts[pick(7)]});
        request.messages.emplace_back(std::move(results));
      }
    }
    body_of(provider::anthropic, request);
    body_of(provider::openai, request);
  }
}

TEST_CASE("the rules catch what they are for") {
  const auto anthropic = [](const std::string& messages,
                            const std::string& more = R"(,"tools":[{"name":"t","input_schema":{"type":"object"}}])") {
    return broken_rule(provider::anthropic, R"({"model":"m","max_tokens":9,"messages":)" + messages + more + "}")
        .value_or("");
  };
  const std::string call = R"({"type":"tool_use","id":"a","name":"t","input":{}})";
  const std::string answer = R"({"type":"tool_result","tool_use_id":"a","content":"x"})";
  const std::string hello = R"({"role":"user","content":[{"type":"text","text":"hi"}]})";
  const auto called = R"({"role":"assistant","content":[)" + call + "]}";
  CHECK(anthropic("[" + hello + "," + called + R"(,{"role":"user","content":[)" + answer + "]}]") == "");
  CHECK_THAT(anthropic("[" + hello + "," + called + "," + hello + "]"), Catch::Contains("no result for call a"));
  CHECK_THAT(anthropic("[" + hello + "," + called + "]"), Catch::Contains("last message"));
  CHECK_THAT(anthropic("[" + hello + "," + called + R"(,{"role":"user","content":[)" + answer + "," + answer + "]}]"),
             Catch::Contains("no message just before it calls"));
  CHECK_THAT(anthropic("[" + hello + R"(,{"role":"assistant","content":[)" + call + "," + call + "]}]"),
             Catch::Contains("used twice"));
  CHECK_THAT(anthropic(R"([{"role":"user","content":[)" + answer + "]}]"),
             Catch::Contains("no message just before it calls"));
  CHECK_THAT(anthropic("[" + hello + "," + hello + "]"), Catch::Contains("in a row"));
  CHECK_THAT(anthropic("[" + called + "]"), Catch::Contains("in a row"));
  CHECK_THAT(anthropic(R"([{"role":"user","content":[]}])"), Catch::Contains("without content"));
  CHECK_THAT(anthropic(R"([{"role":"user","content":[{"type":"text","text":" "}]}])"), Catch::Contains("empty"));
  CHECK_THAT(anthropic("[" + hello + "," + called + R"(,{"role":"user","content":[)" + answer + "]}]", ""),
             Catch::Contains("no tools are declared"));
  CHECK_THAT(anthropic("[" + hello +
                       R"(,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":"x"}]}])"),
             Catch::Contains("not an object"));

  const auto openai = [](const std::string& messages) {
    return broken_rule(provider::openai, R"({"model":"m","messages":)" + messages + "}").value_or("");
  };
  const std::string user = R"({"role":"user","content":"hi"})";
  const auto calling = [](const std::string& list) {
    return R"({"role":"assistant","content":null,"tool_calls":[)" + list + "]}";
  };
  const std::string a = R"({"id":"a","type":"function","function":{"name":"t","arguments":"{}"}})";
  const std::string b = R"({"id":"b","type":"function","function":{"name":"t","arguments":"{}"}})";
  const auto tool = [](const std::string& id) {
    return R"({"role":"tool","tool_call_id":")" + id + R"(","content":"x"})";
  };
  CHECK(openai("[" + user + "," + calling(a + "," + b) + "," + tool("a") + "," + tool("b") + "]") == "");
  CHECK_THAT(openai("[" + user + "," + calling(a + "," + b) + "," + tool("b") + "," + tool("a") + "]"),
             Catch::Contains("where that of a is due"));
  CHECK_THAT(openai("[" + user + "," + calling(a + "," + b) + "," + tool("a") + "]"),
             Catch::Contains("no result for call b"));
  CHECK_THAT(openai("[" + user + "," + calling(a) + "," + user + "]"), Catch::Contains("no result for call a"));
  CHECK_THAT(openai("[" + user + "," + tool("a") + "]"), Catch::Contains("no message just before it calls"));
  CHECK_THAT(openai("[" + user + R"(,{"role":"assistant","content":""}])"), Catch::Contains("without text"));
  CHECK_THAT(openai("[" + user + "," + user + "]"), Catch::Contains("in a row"));
  CHECK_THAT(openai("[" + user + "," +
                    calling(R"({"id":"a","type":"function","function":{"name":"t","arguments":"{"}})") + "]"),
             Catch::Contains("not a JSON object"));
}

TEST_CASE("URLs are made of the base, and people see none of its secrets") {
  const auto url = [](provider whose, const std::string& base) {
    const auto settings = settings_for(base, whose);
    const auto made = whose == provider::anthropic ? anthropic_request(settings, {}) : openai_request(settings, {});
    if (!made) return made.error().code + ": " + made.error().detail;
    CHECK_THAT(made->shown_url, !Catch::Contains("secret"));
    return made->url;
  };
  CHECK(url(provider::anthropic, "") == "https://api.anthropic.com/v1/messages");
  CHECK(url(provider::anthropic, "https://api.anthropic.com/") == "https://api.anthropic.com/v1/messages");
  CHECK(url(provider::openai, "") == "https://api.openai.com/v1/chat/completions");
  CHECK(url(provider::openai, "http://localhost:11434") == "http://localhost:11434/v1/chat/completions");
  CHECK(url(provider::openai, "http://h/api/v3/") == "http://h/api/v3/chat/completions");
  CHECK(url(provider::openai, "https://u:secret@h/v1?api-version=secret2") ==
        "https://u:secret@h/v1/chat/completions?api-version=secret2");
  CHECK(url(provider::openai, "http://h/x/chat/completions") == "http://h/x/chat/completions");
  CHECK_THAT(url(provider::openai, "ftp://h/v1"), Catch::StartsWith("model_refused: model \"main\""));
  CHECK_THAT(url(provider::openai, "file:///etc/passwd"), Catch::StartsWith("model_refused"));
  CHECK_THAT(url(provider::openai, "not a url"), Catch::StartsWith("model_refused"));
}

TEST_CASE("what no server would take is refused before anybody is asked, without showing the key") {
  auto settings = settings_for("http://h/v1");
  const auto wrong = [&] {
    const auto found = wrong_settings(settings);
    if (found) CHECK_THAT(found->detail, !Catch::Contains("very-secret"));
    return found ? found->detail : "";
  };
  CHECK(wrong() == "");
  settings.key = "sk-very-secret\n";
  CHECK_THAT(wrong(), Catch::Contains("its key holds white space"));
  settings.key = "sk-very-secret\r\nX-Evil: 1";
  CHECK_THAT(wrong(), Catch::Contains("its key holds white space"));
  settings.key = "";
  settings.model = "";
  CHECK_THAT(wrong(), Catch::Contains("does not say which model"));
  settings.model = "m";
  settings.max_tokens = 0;
  CHECK_THAT(wrong(), Catch::Contains("max_tokens"));

  settings = settings_for("http://h/v1");
  const auto refused = [&](std::vector<tool_offer> tools) {
    auto request = talk();
    request.tools = std::move(tools);
    const auto made = openai_request(settings, request);
    return made ? "" : made.error().detail;
  };
  CHECK_THAT(refused(std::vector<tool_offer>(1000, {"t", "", "{}"})), Catch::Contains("1000 tools"));
  CHECK_THAT(refused({{"a b", "", ""}}), Catch::Contains("\"a b\""));
  CHECK_THAT(refused({{"a", "", ""}, {"a", "", ""}}), Catch::Contains("twice"));
  CHECK_THAT(refused({{"a", "", "[1]"}}), Catch::Contains("not a JSON object"));
  CHECK_THAT(refused({{"a", "", "{"}}), Catch::Contains("not a JSON object"));
}

TEST_CASE("what steers a turn is not kept apart from the message that it belongs to") {
  const conversation messages{user_message{"list it"}, user_message{"in French", {}, true},
                              user_message{"and short", {}, true}};
  const auto all = orderly(messages);
  REQUIRE(all.size() == 1);
  CHECK(std::get<user_message>(all[0]).text == "list it\n\nin French\n\nand short");
}
