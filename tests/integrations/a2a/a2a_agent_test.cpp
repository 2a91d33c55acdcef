// Remote agents over A2A against a real server: cards, calls, streams, looks, cancels at every moment.
#include <nlohmann/json.hpp>

#include "integrations/a2a/agent_server.hpp"
#include "integrations/a2a/card.hpp"
#include "integrations/a2a/task_view.hpp"
#include "tests/integrations/mcp/mcp_recorder.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;
using nlohmann::json;

namespace {

const std::string a2a_key = "key-of-great-secrecy";

json a2a_status(const std::string& state, const std::string& words = "") {
  json status{{"state", "TASK_STATE_" + state}};
  if (!words.empty()) status["message"] = {{"parts", json::array({{{"text", words}}})}};
  return status;
}

json a2a_task(const std::string& state, const std::string& text = "") {
  json task{{"id", "t-1"}, {"contextId", "c-1"}, {"status", a2a_status(state)}};
  if (!text.empty())
    task["artifacts"] = json::array({{{"artifactId", "a"}, {"parts", json::array({{{"text", text}}})}}});
  return task;
}

std::string far_card(const http_ask& ask) {
  const json card{{"name", "far"},
                  {"description", "Far away."},
                  {"capabilities", {{"streaming", false}}},
                  {"supportedInterfaces", json::array({{{"url", "http://" + ask.headers.at("host") + "/rpc"},
                                                        {"protocolBinding", "JSONRPC"},
                                                        {"protocolVersion", "1.0"}}})}};
  return card.dump();
}

/// An agent whose answer to each request of a call a test decides; `{}` = it never answers.
class far_agent {
 public:
  using decide = std::function<std::optional<json>(const std::string& method, const json& params)>;
  explicit far_agent(decide what)
      : what_(std::move(what)), server([this](const http_ask& ask) { return answer(ask); }) {}

  std::size_t count(const std::string& method) const {
    std::size_t found = 0;
    for (const auto& ask : server.asks())
      found += !ask.body.empty() && json::parse(ask.body)["method"] == method ? 1 : 0;
    return found;
  }
  std::string url() const { return server.url(); }
  std::unique_ptr<mcp_server> client() const {
    auto made = a2a_agent_server("far", url(), a2a_key);
    if (!made) FAIL(made.error().detail);
    return std::move(*made);
  }

 private:
  moves answer(const http_ask& ask) {
    if (ask.body.empty()) return {whole(200, far_card(ask))};
    const auto request = json::parse(ask.body);
    const auto result = what_(request["method"], request["params"]);
    if (!result) return {pause(60s)};
    json whole_answer{{"jsonrpc", "2.0"}, {"id", request["id"]}};
    whole_answer.update(*result);
    return {whole(200, whole_answer.dump())};
  }
  decide what_;

 public:
  http_server server;
};

json a2a_result(json what) { return {{"result", std::move(what)}}; }
json a2a_error(int code) { return {{"error", {{"code", code}, {"message", "no"}}}}; }

} // namespace

TEST_CASE("a card is refused if it would send the token elsewhere, or speaks another protocol", "[a2a]") {
  const auto card = [](const std::string& url, const std::string& binding = "JSONRPC", const std::string& v = "1.0") {
    return json{
        {"name", "x"},
        {"supportedInterfaces", json::array({{{"url", url}, {"protocolBinding", binding}, {"protocolVersion", v}}})}};
  };
  const std::string home = "https://Agents.example.com/x";
  CHECK(a2a::read_card(card("https://agents.example.com:443/rpc"), "x", home).value().url ==
        "https://agents.example.com:443/rpc");
  for (const auto* elsewhere : {"http://agents.example.com/rpc", "https://agents.example.com:444/rpc",
                                "https://agents.example.com.evil.org/rpc", "https://evil.org/?agents.example.com",
                                "https://agents.example.com@evil.org/", "file:///etc/passwd", "rpc", ""})
    CHECK(a2a::read_card(card(elsewhere), "x", home).error().code == "a2a_refused");
  CHECK(a2a::read_card(card(home, "GRPC"), "x", home).error().code == "a2a_refused");
  CHECK(a2a::read_card(card(home, "JSONRPC", "0.3"), "x", home).error().code == "a2a_refused");
  for (const auto& wrong : {json(), json(5), json::object(), json{{"supportedInterfaces", "x"}}})
    CHECK(a2a::read_card(wrong, "x", home).error().code == "a2a_broken");
  CHECK(a2a::card_address("http://h/a/") == "http://h/a/.well-known/agent-card.json");
  CHECK(a2a::card_address("http://h/card.json") == "http://h/card.json");
}

TEST_CASE("what a card says is bounded and has no control characters", "[a2a]") {
  json card{{"name", "a\nb\x07"},
            {"description", std::string(100'000, 'x')},
            {"supportedInterfaces",
             json::array({{{"url", "http://h/"}, {"protocolBinding", "JSONRPC"}, {"protocolVersion", "1.0"}}})},
            {"skills", json::array()}};
  for (int i = 0; i < 1'000; ++i)
    card["skills"].push_back({{"name", "s" + std::to_string(i)}, {"description", "d\td"}});
  card["skills"].push_back(5);
  const auto read = a2a::read_card(card, "x", "http://h/").value();
  CHECK(read.tool.description.size() < 4'096);
  CHECK(read.tool.description.find('\a') == std::string::npos);
  CHECK(read.tool.description.find("\n- s0: d d") != std::string::npos);
}

TEST_CASE("a task is read from whole answers and from pieces, and a final state stands", "[a2a]") {
  a2a::task_view view;
  CHECK_FALSE(view.take(json("x")));
  CHECK_FALSE(view.take({{"task", {{"id", ""}, {"status", json::object()}}}}));
  REQUIRE(view.take({{"task", a2a_task("WORKING")}}));
  CHECK_FALSE(view.take({{"statusUpdate", {{"taskId", "other"}, {"status", a2a_status("FAILED")}}}}));
  CHECK_FALSE(view.is_over());
  const auto piece = [](const std::string& text, bool append) {
    return json{{"artifactUpdate",
                 {{"taskId", "t-1"},
                  {"append", append},
                  {"artifact", {{"artifactId", "a"}, {"parts", json::array({{{"text", text}}})}}}}}};
  };
  CHECK(view.take(piece("wrong", false)));
  CHECK(view.take(piece("one", false)));
  CHECK(view.take(piece(" two", true)));
  CHECK(view.take({{"statusUpdate", {{"taskId", "t-1"}, {"status", a2a_status("COMPLETED")}}}}));
  CHECK(view.take({{"statusUpdate", {{"taskId", "t-1"}, {"status", a2a_status("WORKING")}}}}));
  REQUIRE(view.is_over());
  const auto end = view.end();
  CHECK(end.ok);
  CHECK(json::parse(end.result) ==
        json{{"state", "completed"}, {"text", "one two"}, {"conversation", "c-1"}, {"task", "t-1"}});
}

TEST_CASE("a task that is too large is cut", "[a2a]") {
  a2a::task_view view;
  REQUIRE(view.take(a2a_task("WORKING")));
  for (int i = 0; i < 200; ++i)
    view.take(
        {{"artifactUpdate",
          {{"taskId", "t-1"},
           {"artifact",
            {{"artifactId", std::to_string(i)}, {"parts", json::array({{{"text", std::string(50'000, 'y')}}})}}}}}});
  view.take(a2a_task("COMPLETED"));
  const auto end = view.end();
  CHECK(end.truncated);
  CHECK(end.result.size() < (1 << 20) + 1'000);
}

TEST_CASE("a call is named, looked at and finished, and sends its message once", "[a2a]") {
  std::atomic<int> looks = 0;
  far_agent far([&](const std::string& method, const json&) -> std::optional<json> {
    if (method == "SendMessage") return a2a_result({{"task", a2a_task("WORKING")}});
    return a2a_result(++looks < 3 ? a2a_task("WORKING") : a2a_task("COMPLETED", "42"));
  });
  const auto client = far.client();
  mcp_recorder recorder;
  const auto call = client->call("send", R"({"message":"ask"})", recorder.listener(), "op-1");
  CHECK(json::parse(recorder.finished().result)["text"] == "42");
  const auto events = recorder.events();
  const auto* named = std::get_if<mcp_call_events::named>(&events.front());
  REQUIRE(named);
  CHECK(named->task == "t-1");
  CHECK(far.count("SendMessage") == 1);
  for (const auto& ask : far.server.asks()) {
    CHECK(ask.headers.at("authorization") == "Bearer " + a2a_key);
    CHECK(ask.headers.at("a2a-version") == "1.0");
  }
  // The next life asks for it by its name.
  mcp_recorder later;
  const auto followed = client->follow("t-1", later.listener());
  REQUIRE(followed);
  CHECK(json::parse(later.finished().result)["text"] == "42");
  CHECK(far.count("SendMessage") == 1);
}

TEST_CASE("what a cancel comes to is what the agent then says", "[a2a]") {
  struct outcome_row {
    const char* state;
    const char* late;
  };
  for (const auto& row : {outcome_row{"CANCELED", "done"}, outcome_row{"COMPLETED", "too_late"},
                          outcome_row{"FAILED", "failed"}, outcome_row{"REJECTED", "done"}}) {
    std::atomic<bool> is_stopped = false;
    far_agent far([&](const std::string& method, const json& params) -> std::optional<json> {
      if (method == "SendMessage") return a2a_result({{"task", a2a_task("WORKING")}});
      if (method == "CancelTask") {
        is_stopped = params["metadata"]["reason"] == "enough";
        return a2a_result(a2a_task("WORKING")); // it takes its time
      }
      return a2a_result(a2a_task(is_stopped ? row.state : "WORKING"));
    });
    const auto client = far.client();
    mcp_recorder recorder;
    const auto call = client->call("send", R"({"message":"ask"})", recorder.listener(), "op-1");
    far.server.until("a look", [&] { return far.count("GetTask") > 0; });
    call->cancel("enough", recorder.late());
    CHECK(recorder.wait_for_late() == row.late);
    CHECK(far.count("CancelTask") == 1);
  }
}

TEST_CASE("an agent that will not stop a task is believed, unless the task has ended meanwhile", "[a2a]") {
  for (const bool has_ended : {false, true}) {
    far_agent far([&](const std::string& method, const json&) -> std::optional<json> {
      if (method == "SendMessage") return a2a_result({{"task", a2a_task("WORKING")}});
      if (method == "CancelTask") return a2a_error(-32002);
      return a2a_result(a2a_task(has_ended ? "COMPLETED" : "WORKING"));
    });
    const auto client = far.client();
    mcp_recorder recorder;
    const auto call = client->call("send", R"({"message":"ask"})", recorder.listener(), "op-1");
    far.server.until("the message", [&] { return far.count("SendMessage") > 0; });
    call->cancel("enough", recorder.late());
    CHECK(recorder.wait_for_late() == (has_ended ? "too_late" : "refused"));
  }
}

TEST_CASE("a cancel before the card is there sends nothing", "[a2a]") {
  http_server silent([](const http_ask&) -> moves { return {pause(60s)}; });
  auto made = a2a_agent_server("far", silent.url(), "");
  REQUIRE(made);
  mcp_recorder recorder;
  const auto call = (*made)->call("send", R"({"message":"ask"})", recorder.listener(), "op-1");
  call->cancel("enough", recorder.late());
  CHECK(recorder.wait_for_late() == "not_sent");
  for (const auto& ask : silent.asks()) CHECK(ask.body.empty());
}

TEST_CASE("a lost answer leaves the outcome unknown, and refusals are told", "[a2a]") {
  far_agent far([&](const std::string&, const json& params) -> std::optional<json> {
    if (params["message"]["parts"][0]["text"] == "refuse") return a2a_error(-32602);
    if (params["message"]["parts"][0]["text"] == "odd") return a2a_result({{"task", 5}});
    return std::nullopt;
  });
  auto client = far.client();
  mcp_recorder refused, odd, wrong, lost;
  const auto first = client->call("send", R"({"message":"refuse"})", refused.listener(), "op-1");
  CHECK(refused.failed().why.code == "a2a_refused");
  const auto second = client->call("send", R"({"message":"odd"})", odd.listener(), "op-2");
  CHECK(odd.failed().why.code == "a2a_broken");
  CHECK(odd.failed().sent);
  const auto third = client->call("send", R"({"message":""})", wrong.listener(), "op-3");
  CHECK_FALSE(wrong.failed().sent);
  const auto fourth = client->call("send", R"({"message":"lose"})", lost.listener(), "op-4");
  far.server.until("the message", [&] { return far.count("SendMessage") == 3; });
  client.reset();
  CHECK(lost.failed().why.code == "a2a_unreachable");
  CHECK(lost.failed().sent);
}

TEST_CASE("an address or a key that cannot be is refused at once", "[a2a]") {
  CHECK_FALSE(a2a_agent_server("far", "ftp://h/", ""));
  CHECK_FALSE(a2a_agent_server("far", "file:///etc/passwd", ""));
  const auto made = a2a_agent_server("far", "http://127.0.0.1:1/", "two words");
  REQUIRE_FALSE(made);
  CHECK(made.error().detail.find("two words") == std::string::npos);
}

TEST_CASE("an image that replaces another takes its place, not more room", "[a2a]") {
  a2a::task_view view;
  REQUIRE(view.take(a2a_task("WORKING")));
  const json part{{"raw", std::string(20 << 20, 'A')}, {"mediaType", "image/png"}};
  for (int i = 0; i < 3; ++i)
    view.take(
        {{"artifactUpdate", {{"taskId", "t-1"}, {"artifact", {{"artifactId", "a"}, {"parts", json::array({part})}}}}}});
  view.take(a2a_task("COMPLETED"));
  CHECK_FALSE(view.end().truncated);
}

TEST_CASE("an error that can pass ends neither the looks at a task nor its cancel", "[a2a]") {
  std::atomic<int> looks = 0, stops = 0;
  std::atomic<bool> goes_on = false, is_lost = false;
  far_agent far([&](const std::string& method, const json&) -> std::optional<json> {
    if (method == "SendMessage") return a2a_result({{"task", a2a_task("WORKING")}});
    if (method == "CancelTask") return ++stops == 1 ? a2a_error(-32603) : a2a_result(a2a_task("CANCELED"));
    if (is_lost) return a2a_error(-32001);
    if (goes_on) return a2a_result(a2a_task("WORKING"));
    return ++looks == 1 ? a2a_error(-32603) : a2a_result(a2a_task(looks < 4 ? "WORKING" : "COMPLETED", "42"));
  });
  const auto client = far.client();
  mcp_recorder stopped, ended, lost;
  const auto first = client->call("send", R"({"message":"ask"})", ended.listener(), "op-1");
  CHECK(json::parse(ended.finished().result)["text"] == "42");
  goes_on = true;
  const auto second = client->call("send", R"({"message":"ask"})", stopped.listener(), "op-2");
  far.server.until("the message", [&] { return far.count("SendMessage") == 2; });
  second->cancel("enough", stopped.late());
  CHECK(stopped.wait_for_late() == "done");
  CHECK(far.count("CancelTask") == 2);
  is_lost = true;
  const auto third = client->call("send", R"({"message":"ask"})", lost.listener(), "op-3");
  CHECK(lost.failed().why.code == "a2a_lost");
  CHECK(lost.failed().sent);
}

TEST_CASE("a task of an earlier life is looked at as soon as the agent is back", "[a2a]") {
  std::atomic<int> cards = 0;
  http_server server([&](const http_ask& ask) -> moves {
    if (ask.body.empty()) return {++cards < 3 ? whole(503, "") : whole(200, far_card(ask))};
    return {whole(200, json{{"jsonrpc", "2.0"}, {"id", 1}, {"result", a2a_task("COMPLETED", "42")}}.dump())};
  });
  const auto made = a2a_agent_server("far", server.url(), "");
  REQUIRE(made);
  mcp_recorder recorder;
  const auto followed = (*made)->follow("t-1", recorder.listener());
  CHECK(json::parse(recorder.finished().result)["text"] == "42");
  CHECK(cards == 3);
}

TEST_CASE("a refusal that repeats the key is told without it", "[a2a]") {
  far_agent far([&](const std::string&, const json&) -> std::optional<json> {
    return json{{"error", {{"code", -32602}, {"message", "bad token " + a2a_key}}}};
  });
  const auto client = far.client();
  mcp_recorder refused;
  const auto call = client->call("send", R"({"message":"ask"})", refused.listener(), "op-1");
  CHECK(refused.failed().why.detail.find("bad token ***") != std::string::npos);
}

TEST_CASE("the end of a task that nobody stops is asked for, and waited for", "[a2a]") {
  struct outcome_row {
    const char* state;
    const char* word;
  };
  for (const auto& row : {outcome_row{"CANCELED", "done"}, outcome_row{"COMPLETED", "too_late"},
                          outcome_row{"FAILED", "failed"}, outcome_row{"", "ignored"}}) {
    std::atomic<int> looks = 0;
    far_agent far([&](const std::string&, const json&) -> std::optional<json> {
      if (std::string(row.state).empty()) return a2a_error(-32001);
      return a2a_result(a2a_task(++looks == 1 ? "WORKING" : row.state));
    });
    const auto client = far.client();
    mcp_recorder recorder;
    client->ask_end("t-1", recorder.late());
    CHECK(recorder.wait_for_late() == row.word);
    CHECK(far.count("CancelTask") == 0);
    CHECK(far.count("SendMessage") == 0);
  }
}

TEST_CASE("a task that quelld cannot ask for any more has not ended", "[a2a]") {
  far_agent far([&](const std::string&, const json&) -> std::optional<json> { return std::nullopt; });
  auto client = far.client();
  mcp_recorder query, followed;
  client->ask_end("t-1", query.late());
  const auto call = client->follow("t-2", followed.listener());
  far.server.until("the looks", [&] { return far.count("GetTask") == 2; });
  client.reset();
  CHECK(query.wait_for_late() == "ignored");
  CHECK(followed.failed().sent);
}
