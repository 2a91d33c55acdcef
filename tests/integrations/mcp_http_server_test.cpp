// The MCP client over HTTP against a real server: versions, sessions, streams, cancels.
#include "tests/integrations/heard.hpp"
#include "tests/integrations/mcp_old_server.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;

TEST_CASE("an older server is begun with initialize, its session and version are sent, and it is left politely") {
  old_server old([](const http_ask&, const json& message) -> moves { return {answered(message["id"], greeting)}; });
  auto client = open(old.server.url());
  mcp_heard heard;
  const auto call = client->call("echo", R"({"a":1})", heard.listener());
  CHECK(json::parse(heard.finished().result) == greeting);
  client.reset();
  const auto asks = old.server.asks();
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
  mcp_heard heard;
  const auto call = client->call("slow", "", heard.listener());
  CHECK(heard.finished().ok);
  CHECK(heard.count_of_progress() == 2);
  old.server.until("two answers", [&] { return old.server.asks().size() >= 6; });
  std::vector<json> answers;
  for (const http_ask& ask : old.server.asks())
    if (const json body = json::parse(ask.body); !body.contains("method")) answers.push_back(body);
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
  mcp_heard heard;
  const auto call = client->call("slow", "", heard.listener());
  heard.wait_for_progress();
  const auto before = old.server.hung_up();
  call->cancel("the user said stop", heard.late());
  CHECK(heard.wait_for_late() == "ignored");
  old.server.until("the hang-up", [&] { return old.server.hung_up() == before + 1; });
  REQUIRE(count(old.server, "notifications/cancelled") == 1);
  json sent, call_sent;
  for (const http_ask& ask : old.server.asks()) {
    if (method_of(ask) == "notifications/cancelled") sent = json::parse(ask.body);
    if (method_of(ask) == "tools/call") call_sent = json::parse(ask.body);
  }
  CHECK(sent["params"] == json{{"requestId", call_sent["id"]}, {"reason", "the user said stop"}});
  call->cancel("again", heard.late());
  client.reset();
  CHECK(heard.lates() == std::vector<std::string>{"ignored", "ignored"});
  CHECK(heard.events().size() == 1);
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
    mcp_heard heard;
    const auto call = client->call("slow", "", heard.listener());
    heard.wait_for_progress();
    call->cancel("stop", heard.late());
    CHECK(heard.wait_for_late() == "refused");
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
  mcp_heard heard;
  const auto call = client->call("zäh", "", heard.listener());
  heard.wait_for_progress();
  call->cancel("stop", heard.late());
  CHECK(heard.wait_for_late() == "ignored");
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
  old_server old([&](const http_ask&, const json& message) -> moves { return {answered(message["id"], greeting)}; });
  auto client = open(old.server.url());
  mcp_heard first, second;
  const auto one = client->call("echo", "", first.listener());
  CHECK(first.finished().ok);
  ++old.session; // the server has forgotten
  const auto two = client->call("echo", "", second.listener());
  CHECK(second.finished().ok);
  CHECK(count(old.server, "initialize") == 2);
  CHECK(count(old.server, "tools/call") == 3);
}

TEST_CASE("cancels at every moment: before the handshake, unsent, answered, after the server's end") {
  http_server silent([](const http_ask&) -> moves { return {}; });
  auto client = open(silent.url());
  mcp_heard early, open_one;
  const auto first = client->call("x", "", early.listener());
  first->cancel("stop", early.late());
  CHECK(early.wait_for_late() == "not_sent");
  auto second = client->call("x", "", open_one.listener());
  client.reset();
  CHECK(open_one.failed().why.code == "mcp_unreachable");
  CHECK_FALSE(open_one.failed().sent);
  second->cancel("stop", open_one.late());
  CHECK(open_one.lates() == std::vector<std::string>{"not_sent"});
  second.reset();
  CHECK(early.events().empty());

  old_server old([](const http_ask&, const json& message) -> moves { return {answered(message["id"], greeting)}; });
  auto other = open(old.server.url());
  mcp_heard done;
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
  mcp_heard running, cancelled;
  auto client = open(old.server.url());
  const auto one = client->call("slow", "", running.listener());
  const auto two = client->call("slow", "", cancelled.listener());
  running.wait_for_progress();
  cancelled.wait_for_progress();
  two->cancel("stop", cancelled.late());
  client.reset();
  CHECK(running.failed().why.code == "mcp_unreachable");
  CHECK(cancelled.lates().size() == 1);
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
  std::vector<mcp_heard> heards(count_of_calls);
  std::vector<std::unique_ptr<mcp_call>> calls;
  for (mcp_heard& one : heards) calls.push_back(client->call("slow", "", one.listener()));
  for (const mcp_heard& one : heards) one.wait_for_progress();
  std::vector<std::thread> users;
  for (std::size_t t = 0; t < 4; ++t)
    users.emplace_back([&, t] {
      for (std::size_t i = t; i < count_of_calls; i += 4) calls[i]->cancel("stop", heards[i].late());
    });
  for (std::thread& one : users) one.join();
  for (const mcp_heard& one : heards) CHECK(one.wait_for_late() == "ignored");
  CHECK(count(old.server, "notifications/cancelled") == count_of_calls);
  client.reset();
  for (const mcp_heard& one : heards) {
    CHECK(one.lates().size() == 1);
    CHECK(one.events().size() == 1);
  }
}
