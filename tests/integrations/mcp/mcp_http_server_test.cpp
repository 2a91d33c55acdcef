// The MCP client over HTTP against a real server: versions, sessions, streams, cancels.
#include "tests/integrations/mcp/mcp_old_server.hpp"
#include "tests/integrations/models/event_recorder.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;

TEST_CASE("an older server is begun with initialize, its session and version are sent, and it is left politely") {
  old_server old([](const http_ask&, const json& message) -> moves { return {answered(message["id"], greeting)}; });
  auto client = open(old.server.url());
  mcp_recorder recorder;
  const auto call = client->call("echo", R"({"a":1})", recorder.listener());
  CHECK(json::parse(recorder.finished().result) == greeting);
  old.server.until("the request that listens", [&] {
    const auto all = old.server.asks();
    return std::any_of(all.begin(), all.end(), [](const http_ask& ask) { return is_listening(ask); });
  });
  client.reset();
  auto asks = old.server.asks();
  // Requests that listen on the session's own stream come beside the others.
  const auto listens = std::erase_if(asks, [](const http_ask& ask) { return is_listening(ask); });
  CHECK(listens == 1);
  REQUIRE(asks.size() == 5);
  CHECK(method_of(asks[0]) == "server/discover");
  CHECK(asks[0].headers.at("mcp-protocol-version") == "2026-07-28");
  CHECK(asks[0].headers.at("mcp-method") == "server/discover");
  CHECK(method_of(asks[1]) == "initialize");
  CHECK_FALSE(asks[1].headers.contains("mcp-session-id"));
  CHECK(method_of(asks[2]) == "notifications/initialized");
  CHECK(method_of(asks[3]) == "tools/call");
  CHECK(asks[3].headers.at("mcp-session-id") == "s-1");
  CHECK(asks[3].headers.at("authorization") == "Bearer key-of-great-secrecy");
  CHECK(asks[3].headers.at("accept") == "application/json, text/event-stream");
  CHECK_FALSE(asks[3].headers.contains("mcp-method"));
  CHECK(asks[4].body.empty()); // DELETE
  CHECK(asks[4].headers.at("mcp-session-id") == "s-1");
}

TEST_CASE("progress comes as it is sent, and the server's requests are answered in posts of their own") {
  old_server old([](const http_ask&, const json& message) -> moves {
    return {chunked_head(),
            chunk("id: 1\ndata: \n\n" + progress(message)),
            chunk(event({{"jsonrpc", "2.0"}, {"id", "s-9"}, {"method", "ping"}})),
            chunk(event(
                {{"jsonrpc", "2.0"}, {"id", 10}, {"method", "sampling/createMessage"}, {"params", json::object()}})),
            chunk(progress(message)),
            chunk(event(json::parse(answer_text(message["id"], greeting)))),
            last_chunk()};
  });
  auto client = open(old.server.url());
  mcp_recorder recorder;
  const auto call = client->call("slow", "", recorder.listener());
  CHECK(recorder.finished().ok);
  CHECK(recorder.count_of_progress() == 2);
  std::vector<json> answers;
  const auto read_answers = [&] {
    answers.clear();
    for (const http_ask& ask : old.server.asks())
      if (!ask.body.empty() && method_of(ask).empty()) answers.push_back(json::parse(ask.body));
    return answers.size() >= 2;
  };
  old.server.until("two answers", read_answers);
  REQUIRE(answers.size() == 2);
  CHECK(std::count_if(answers.begin(), answers.end(), [](const json& one) {
          return one == json{{"jsonrpc", "2.0"}, {"id", "s-9"}, {"result", json::object()}} ||
                 (one["id"] == 10 && one["error"]["code"] == -32601);
        }) == 2);
}

TEST_CASE("a cancel of an older version posts the notification and closes the stream at once") {
  old_server old([](const http_ask&, const json& message) -> moves {
    return {chunked_head(), chunk(progress(message))};
  });
  auto client = open(old.server.url());
  mcp_recorder recorder;
  const auto call = client->call("slow", "", recorder.listener());
  recorder.wait_for_progress();
  const auto before = old.server.hung_up();
  call->cancel("the user said stop", recorder.late());
  CHECK(recorder.wait_for_late() == "ignored");
  old.server.until("the hang-up", [&] { return old.server.hung_up() == before + 1; });
  REQUIRE(count(old.server, "notifications/cancelled") == 1);
  json sent, call_sent;
  for (const http_ask& ask : old.server.asks()) {
    if (method_of(ask) == "notifications/cancelled") sent = json::parse(ask.body);
    if (method_of(ask) == "tools/call") call_sent = json::parse(ask.body);
  }
  CHECK(sent["params"] == json{{"requestId", call_sent["id"]}, {"reason", "the user said stop"}});
  call->cancel("again", recorder.late());
  client.reset();
  CHECK(recorder.late_results() == std::vector<std::string>{"ignored", "ignored"});
  CHECK(recorder.events().size() == 1);
  CHECK(count(old.server, "notifications/cancelled") == 1);
}

TEST_CASE("a cancel that the server refuses, and one that nobody takes, are recorded as refused") {
  for (const bool refuses : {true, false}) {
    http_server server([&](const http_ask& ask) -> moves {
      if (ask.body.empty()) return {whole(200, "")};
      const json message = json::parse(ask.body);
      const std::string method = message["method"];
      if (method == "server/discover") return {whole(404, "")};
      if (method == "initialize") return {answered(message["id"], {{"protocolVersion", "2025-03-26"}})};
      if (method == "notifications/initialized") return {accepted()};
      if (method == "tools/call") return {chunked_head(), chunk(progress(message))};
      return refuses ? moves{whole(400, "no")} : moves{};
    });
    auto options = quick();
    if (!refuses) options.cancel_timeout = 100ms;
    auto client = open(server.url(), options);
    mcp_recorder recorder;
    const auto call = client->call("slow", "", recorder.listener());
    recorder.wait_for_progress();
    call->cancel("stop", recorder.late());
    CHECK(recorder.wait_for_late() == "refused");
  }
}

TEST_CASE("the newest version needs no handshake; a cancel closes the response and posts nothing") {
  http_server server([](const http_ask& ask) -> moves {
    const json message = json::parse(ask.body);
    if (message["method"] == "server/discover")
      return {answered(message["id"], {{"resultType", "complete"}, {"supportedVersions", {"2026-07-28"}}})};
    return {chunked_head(), chunk(progress(message))};
  });
  std::string protocol;
  mcp_hooks hooks;
  hooks.ready = [&](const std::string&, const std::string&, const std::string& spoken) { protocol = spoken; };
  auto client = open(server.url(), quick(), hooks);
  mcp_recorder recorder;
  const auto call = client->call("zäh", "", recorder.listener());
  recorder.wait_for_progress();
  call->cancel("stop", recorder.late());
  CHECK(recorder.wait_for_late() == "ignored");
  server.until("the hang-up", [&] { return server.hung_up() == 1; });
  client.reset();
  CHECK(protocol == "2026-07-28");
  const auto asks = server.asks();
  REQUIRE(asks.size() == 2);
  CHECK(asks[1].headers.at("mcp-method") == "tools/call");
  CHECK(asks[1].headers.at("mcp-name") == "=?base64?esOkaA==?=");
  CHECK(asks[1].headers.at("mcp-protocol-version") == "2026-07-28");
  CHECK(json::parse(asks[1].body)["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28");
}

TEST_CASE("a session that is gone is begun anew once, and the call that was refused unread is sent again") {
  for (const move& forgotten :
       {whole(404, "{}"), whole(404, "<html>"), whole(400, ""), whole(400, "Bad Request", {}, "text/plain"),
        whole(400, R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}})")}) {
    old_server old([&](const http_ask&, const json& message) -> moves { return {answered(message["id"], greeting)}; });
    old.forgotten = forgotten;
    auto client = open(old.server.url());
    mcp_recorder first, second;
    const auto one = client->call("echo", "", first.listener());
    CHECK(first.finished().ok);
    ++old.session; // the server was restarted
    const auto two = client->call("echo", "", second.listener());
    CHECK(second.finished().ok);
    CHECK(count(old.server, "initialize") == 2);
    CHECK(count(old.server, "tools/call") == 3);
  }
}

TEST_CASE("cancels at every moment: before the handshake, unsent, answered, after the server's end") {
  http_server silent([](const http_ask&) -> moves { return {}; });
  auto client = open(silent.url());
  mcp_recorder early, open_one;
  const auto first = client->call("x", "", early.listener());
  first->cancel("stop", early.late());
  CHECK(early.wait_for_late() == "not_sent");
  auto second = client->call("x", "", open_one.listener());
  client.reset();
  CHECK(open_one.failed().why.code == "mcp_unreachable");
  CHECK_FALSE(open_one.failed().sent);
  second->cancel("stop", open_one.late());
  CHECK(open_one.late_results() == std::vector<std::string>{"not_sent"});
  second.reset();
  CHECK(early.events().empty());

  old_server old([](const http_ask&, const json& message) -> moves { return {answered(message["id"], greeting)}; });
  auto other = open(old.server.url());
  mcp_recorder done;
  const auto third = other->call("x", "", done.listener());
  CHECK(done.finished().ok);
  third->cancel("stop", done.late());
  CHECK(done.wait_for_late() == "too_late");
}

TEST_CASE("the end of a server ends its calls, and leaves no connection or descriptor") {
  old_server old([](const http_ask&, const json& message) -> moves {
    return {chunked_head(), chunk(progress(message))};
  });
  const std::size_t before = descriptors();
  mcp_recorder running, cancelled;
  auto client = open(old.server.url());
  const auto one = client->call("slow", "", running.listener());
  const auto two = client->call("slow", "", cancelled.listener());
  running.wait_for_progress();
  cancelled.wait_for_progress();
  two->cancel("stop", cancelled.late());
  client.reset();
  CHECK(running.failed().why.code == "mcp_unreachable");
  CHECK(cancelled.late_results().size() == 1);
  CHECK(cancelled.events().size() == 1);
  old.server.until("all connections to be closed", [&] { return old.server.open() == 0; });
  CHECK(descriptors() == before);
}

TEST_CASE("200 calls cancelled at once by several threads: each stream closed, each late told once") {
  old_server old([](const http_ask&, const json& message) -> moves {
    return {chunked_head(), chunk(progress(message))};
  });
  auto client = open(old.server.url());
  constexpr std::size_t count_of_calls = 200;
  std::vector<mcp_recorder> recorders(count_of_calls);
  std::vector<std::unique_ptr<mcp_call>> calls;
  for (mcp_recorder& one : recorders) calls.push_back(client->call("slow", "", one.listener()));
  for (const mcp_recorder& one : recorders) one.wait_for_progress();
  std::vector<std::thread> users;
  for (std::size_t t = 0; t < 4; ++t)
    users.emplace_back([&, t] {
      for (std::size_t i = t; i < count_of_calls; i += 4) calls[i]->cancel("stop", recorders[i].late());
    });
  for (std::thread& one : users) one.join();
  for (const mcp_recorder& one : recorders) CHECK(one.wait_for_late() == "ignored");
  CHECK(count(old.server, "notifications/cancelled") == count_of_calls);
  client.reset();
  for (const mcp_recorder& one : recorders) {
    CHECK(one.late_results().size() == 1);
    CHECK(one.events().size() == 1);
  }
}

TEST_CASE(
    "the newest version's parameters that are wanted in headers are sent there, and impossible wishes are left out") {
  const auto tool = [](const std::string& name, const json& properties) {
    return json{{"name", name}, {"inputSchema", {{"type", "object"}, {"properties", properties}}}};
  };
  const auto header_schema = [](const char* type, const json& header) {
    return json{{"type", type}, {"x-mcp-header", header}};
  };
  json tools = json::array();
  tools.push_back(tool("good", {{"text", header_schema("string", "Text")},
                                {"n", header_schema("integer", "N")},
                                {"yes", header_schema("boolean", "Yes")},
                                {"none", header_schema("string", "None")},
                                {"empty", header_schema("string", "Empty")},
                                {"plain", {{"type", "string"}}}}));
  tools.push_back(tool("empty name", {{"a", header_schema("string", "")}}));
  tools.push_back(tool("space", {{"a", header_schema("string", "a b")}}));
  tools.push_back(tool("line", {{"a", header_schema("string", "a\r\nX: y")}}));
  tools.push_back(tool("number", {{"a", header_schema("number", "A")}}));
  tools.push_back(tool("null", {{"a", header_schema("string", nullptr)}}));
  tools.push_back(tool("twice", {{"a", header_schema("string", "Same")}, {"b", header_schema("string", "same")}}));
  http_server server([&](const http_ask& ask) -> moves {
    const json message = json::parse(ask.body);
    if (message["method"] == "server/discover")
      return {answered(message["id"], {{"resultType", "complete"}, {"supportedVersions", {"2026-07-28"}}})};
    if (message["method"] == "tools/list") return {answered(message["id"], {{"tools", tools}})};
    return {answered(message["id"], greeting)};
  });
  auto client = open(server.url());
  mcp_recorder recorder;
  client->tools(recorder.reply());
  const auto listed = recorder.tools();
  REQUIRE(listed);
  REQUIRE(listed->size() == 1);
  CHECK(listed->front().name == "good");
  const auto call = client->call(
      "good", R"({"text":"ä\r\nX: y","n":42,"yes":false,"none":null,"empty":"","plain":"p"})", recorder.listener());
  CHECK(recorder.finished().ok);
  const auto headers = server.asks().back().headers;
  CHECK(headers.at("mcp-param-text") == "=?base64?w6QNClg6IHk=?=");
  CHECK(headers.at("mcp-param-n") == "42");
  CHECK(headers.at("mcp-param-yes") == "false");
  CHECK(headers.at("mcp-param-empty").empty());
  CHECK_FALSE(headers.contains("mcp-param-none"));
  CHECK_FALSE(headers.contains("mcp-param-plain"));
}

TEST_CASE("a server that refuses the newest version and offers it is asked once more, and no oftener") {
  for (const int refusals : {1, 1'000}) {
    std::atomic<int> probes = 0;
    http_server server([&](const http_ask& ask) -> moves {
      const json message = json::parse(ask.body);
      if (message["method"] == "server/discover" && ++probes > refusals)
        return {answered(message["id"], {{"resultType", "complete"}, {"supportedVersions", {"2026-07-28"}}})};
      if (message["method"] == "tools/call") return {answered(message["id"], greeting)};
      return {whole(
          400,
          R"({"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}})")};
    });
    auto client = open(server.url());
    mcp_recorder recorder;
    const auto call = client->call("echo", "", recorder.listener());
    if (refusals == 1)
      CHECK(recorder.finished().ok);
    else
      CHECK_FALSE(recorder.failed().sent);
    CHECK(count(server, "server/discover") == 2);
  }
}
