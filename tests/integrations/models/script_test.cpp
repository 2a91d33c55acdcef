// The scripted model: the choice of an answer, its pace, and the faults of a wrong script.
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "integrations/models/limits.hpp"
#include "integrations/models/script.hpp"
#include "tests/integrations/models/event_recorder.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;

namespace {

/// A script in its own file, which is deleted afterwards.
class script_file {
 public:
  explicit script_file(const std::string& text, const std::string& ending = ".json") {
    char folder[] = "/tmp/quell-script-XXXXXX";
    REQUIRE(::mkdtemp(folder) != nullptr);
    folder_ = folder;
    settings.name = "scripted";
    settings.base_url = folder_ + "/script" + ending;
    settings.first_backoff = 2ms;
    write(text);
  }
  ~script_file() { std::filesystem::remove_all(folder_); }
  void write(const std::string& text) const { std::ofstream(settings.base_url, std::ios::binary) << text; }
  model_settings settings;

 private:
  std::string folder_;
};

event_recorder played(const model_settings& settings, const model_request& request) {
  auto client = open_client();
  event_recorder recorder;
  const auto call = client->ask(settings, request, recorder.listener());
  recorder.wait_for_end();
  return recorder;
}

std::string wrong(const std::string& text, const std::string& file = "s.json") {
  const auto read = parse_script(text, file);
  return read ? "" : read.error().detail;
}

} // namespace

TEST_CASE("without a script the model echoes and says how to configure a real one") {
  model_settings settings;
  settings.name = "main";
  const event_recorder recorder = played(settings, asking("is anybody there?"));
  CHECK_THAT(recorder.text(), Catch::Contains("You said: is anybody there?") && Catch::Contains("[[models]]"));
  CHECK(recorder.all<model_events::text>().size() > 5);
  CHECK(recorder.finished().why == model_events::stop::end);
}

TEST_CASE("the answer depends on the conversation: the user's words, then the results, then what fits always") {
  const script_file script(R"({"answers": [
    {"when": {"user": "build"}, "steps": [
      {"text": "Building {{text}} now."},
      {"calls": [{"name": "exec", "input": {"cmd": "make {{text}}"}}, {"name": "read", "id": "r1"}]}]},
    {"when": {"result": "error"}, "text": "It failed: {{results}}"},
    {"when": {"round": 2}, "text": "Built."},
    {"when": {"system": "you are a helper"}, "text": "I help.", "usage": {"input": 1, "output": 2, "cached": 3}, "stop": "refusal"},
    {"when": {"ask": 1}, "text": "First: {{text}}"},
    {"text": "Ask {{ask}}, round {{round}}."}]})");

  model_request request = asking("build \"it\"");
  const event_recorder first = played(script.settings, request);
  CHECK(first.text() == "Building build \"it\" now.");
  const auto calls = first.all<model_events::call>();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].what.name == "exec");
  CHECK(calls[0].what.input == R"({"cmd":"make build \"it\""})");
  CHECK(!calls[0].what.call.empty());
  CHECK(calls[1].what == tool_call{"r1", "read", "{}"});
  CHECK(first.finished().why == model_events::stop::calls);

  request.messages.emplace_back(assistant_message{"", {calls[0].what, calls[1].what}, false});
  request.messages.emplace_back(
      tool_results{{{calls[0].what.call, "exec", true, false, "fine"}, {"r1", "read", true, false, "{{text}}"}}});
  CHECK(played(script.settings, request).text() == "Built.");
  std::get<tool_results>(request.messages.back()).results[0].result = "error 1";
  CHECK(played(script.settings, request).text() == "It failed: error 1\n{{text}}");

  CHECK(played(script.settings, asking("hello")).text() == "First: hello");
  model_request helped = asking("hello");
  helped.instructions = "Now you are a helper.";
  const auto end = played(script.settings, helped).finished();
  CHECK(end.usage == model_usage{1, 2, 3});
  CHECK(end.why == model_events::stop::refusal);

  model_request second = asking("hello");
  second.messages.emplace_back(assistant_message{"x", {}, false});
  second.messages.emplace_back(user_message{"more"});
  CHECK(played(script.settings, second).text() == "Ask 2, round 1.");
}

TEST_CASE("a model's own ids of calls stay unique in the conversation") {
  const script_file script(
      R"({"answers": [{"steps": [{"call": {"name": "t", "id": "same"}}, {"call": {"name": "t", "id": "same", "input": "not json"}}]}]})");
  model_request request = asking("x");
  request.messages.emplace_back(assistant_message{"", {{"same", "t", "{}"}}, false});
  const auto calls = played(script.settings, request).all<model_events::call>();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].what.call != "same");
  CHECK(calls[1].what.call != calls[0].what.call);
  CHECK(calls[1].what.input == "not json");
}

TEST_CASE("text comes in chunks of whole characters, with the time between them") {
  const script_file script(
      R"({"answers": [{"steps": [{"text": "ä€😀xyz", "chunk": 2, "delay_ms": 40}, {"delay_ms": 40}, {"text": "!"}]}]})");
  const event_recorder recorder = played(script.settings, asking("x"));
  std::vector<std::string> pieces;
  for (const auto& one : recorder.all<model_events::text>()) pieces.push_back(one.delta);
  CHECK(pieces == std::vector<std::string>{"ä€", "😀x", "yz", "!"});
  CHECK(recorder.times()[3] - recorder.times()[0] >= 120ms);
}

TEST_CASE("errors of a script are tried again as a provider's are, and the tries can be told apart") {
  const script_file script(R"({"answers": [
    {"when": {"attempt": 1}, "steps": [{"error": {"code": "model_overloaded", "message": "busy", "retry": true, "retry_after_ms": 30}}]},
    {"when": {"attempt": 2, "user": "half"}, "steps": [{"text": "half"}, {"error": {"code": "model_broken", "retry": true}}]},
    {"text": "done"}]})");
  const event_recorder good = played(script.settings, asking("whole"));
  CHECK(good.text() == "done");
  REQUIRE(good.all<model_events::retrying>().size() == 1);
  CHECK(good.all<model_events::retrying>().front().after == 30ms);
  const event_recorder bad = played(script.settings, asking("half"));
  CHECK(bad.text() == "half");
  CHECK(bad.failed().why.code == "model_cut");
}

TEST_CASE("a hang and an endless text last until a deadline or a cancel") {
  script_file script(
      R"({"answers": [{"when": {"user": "hang"}, "steps": [{"hang": true}]}, {"steps": [{"endless": "on and ", "chunk": 3}]}]})");
  script.settings.first_event_timeout = 100ms;
  CHECK(played(script.settings, asking("hang")).failed().why.code == "model_timeout");
  script.settings.first_event_timeout = 600s;
  script.settings.whole_timeout = 6000ms;
  const event_recorder endless = played(script.settings, asking("endless"));
  CHECK(endless.failed().why.code == "model_cut"); // a part was shown
  CHECK_THAT(endless.text(), Catch::StartsWith("on and on and on and "));

  script.settings.first_event_timeout = script.settings.whole_timeout = 600s;
  auto client = open_client();
  for (const char* text : {"hang", "endless"}) {
    event_recorder recorder;
    closings closed;
    const auto call = client->ask(script.settings, asking(text), recorder.listener());
    if (text == std::string("endless")) recorder.wait_for<model_events::text>("five texts", 5);
    call->cancel(closed.one());
    closed.wait_for(1);
  }
}

TEST_CASE("1,000 endless scripted answers run on the client's one thread and are cancelled at once") {
  script_file script(R"({"answers": [{"steps": [{"endless": "x", "delay_ms": 100}]}]})");
  auto client = open_client();
  std::vector<event_recorder> recorders(1000);
  std::vector<std::unique_ptr<model_call>> calls;
  for (auto& one : recorders) calls.push_back(client->ask(script.settings, asking("x"), one.listener()));
  for (const auto& one : recorders) one.wait_for<model_events::text>("two texts of each", 2);
  closings closed;
  for (const auto& call : calls) call->cancel(closed.one());
  closed.wait_for(1000);
  CHECK(closed.count() == 1000);
}

TEST_CASE("a script that changes is read anew, one that is missing or fits nothing says so") {
  const script_file script(R"({"answers": [{"text": "old"}]})");
  auto client = open_client();
  const auto text = [&] {
    event_recorder recorder;
    const auto call = client->ask(script.settings, asking("x"), recorder.listener());
    recorder.wait_for_end();
    return recorder;
  };
  CHECK(text().text() == "old");
  script.write(R"({"answers": [{"text": "newer"}]})");
  CHECK(text().text() == "newer");
  script.write(R"({"answers": [{"when": {"user": "y"}, "text": "y"}]})");
  CHECK_THAT(text().failed().why.detail, Catch::Contains("no answer of the script fits: user \"x\""));
  std::filesystem::remove(script.settings.base_url);
  CHECK_THAT(text().failed().why.detail, Catch::Contains("there is no script file"));
  CHECK_THAT(wrong_settings(script.settings)->detail, Catch::Contains("there is no script file"));
}

TEST_CASE("TOML says the same") {
  const script_file script(
      "[[answers]]\nwhen = { user = \"go\" }\nsteps = [ { calls = [ { name = \"t\", input = { n = 3 } } ] } ]\n"
      "[[answers]]\ntext = \"\"\"\nlong\ntext\"\"\"\n",
      ".toml");
  CHECK(played(script.settings, asking("go")).all<model_events::call>().at(0).what.input == R"({"n":3})");
  CHECK(played(script.settings, asking("x")).text() == "long\ntext");
  CHECK_THAT(wrong("[[answers]\n", "s.toml"), Catch::Contains("in line 1"));
}

TEST_CASE("a wrong script says what is wrong and where") {
  CHECK(wrong(R"({"answers": [{"text": "x"}]})") == "");
  CHECK_THAT(wrong("{"), Catch::Contains("cannot be read") && Catch::Contains("line 1"));
  CHECK_THAT(wrong("[]"), Catch::Contains("expected an object"));
  CHECK_THAT(wrong("{}"), Catch::Contains("at least one answer"));
  CHECK_THAT(wrong(R"({"answers": [{"txt": "x"}]})"), Catch::Contains("/answers/0/txt: unknown"));
  CHECK_THAT(wrong(R"({"answers": [{"text": "x"}, {"steps": [{"delay_ms": -1}]}]})"),
             Catch::Contains("/answers/1/steps/0/delay_ms: expected a whole number"));
  CHECK_THAT(wrong(R"({"answers": [{"steps": [{}]}]})"), Catch::Contains("/answers/0/steps/0: a step is one of"));
  CHECK_THAT(wrong(R"({"answers": [{"steps": [{"text": "x", "hang": true}]}]})"), Catch::Contains("a step is one of"));
  CHECK_THAT(wrong(R"({"answers": [{"steps": [{"call": {"input": {}}}]}]})"), Catch::Contains("a call needs a name"));
  CHECK_THAT(wrong(R"({"answers": [{"steps": [{"error": {"code": "oops"}}]}]})"),
             Catch::Contains("the code is none of"));
  CHECK_THAT(wrong(R"({"answers": [{"when": {"user": 3}, "text": "x"}]})"),
             Catch::Contains("/answers/0/when/user: expected a text"));
  CHECK_THAT(wrong(R"({"answers": [{"text": "x", "stop": "now"}]})"), Catch::Contains("stop is one of"));
}
