// The MCP client over HTTP against a real server: faults, limits, retries.
#include "tests/integrations/mcp/mcp_old_server.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;

TEST_CASE("a server that forgets every session is not asked for ever") {
  for (const int status : {404, 400}) {
    old_server old([&](const http_ask&, const json&) -> moves { return {whole(status, "gone")}; });
    auto client = open(old.server.url());
    mcp_recorder recorder;
    const auto call = client->call("echo", "", recorder.listener());
    CHECK(recorder.failed().why.code == "mcp_refused");
    CHECK(count(old.server, "tools/call") == 2);
    CHECK(count(old.server, "initialize") == 2);
    client->tools(recorder.reply());
    CHECK(recorder.tools().error().code == "mcp_refused");
    CHECK(count(old.server, "tools/list") == 2);
    CHECK(count(old.server, "initialize") == 3);
  }
}

TEST_CASE("a handshake whose fresh session is not known is tried once more") {
  for (const int wrong : {1, 1'000}) {
    std::atomic<int> confirmed = 0;
    http_server server([&](const http_ask& ask) -> moves {
      if (ask.body.empty()) return {whole(200, "")};
      const json message = json::parse(ask.body);
      const std::string method = message["method"];
      if (method == "server/discover") return {whole(404, "")};
      if (method == "initialize")
        return {answered(message["id"], {{"protocolVersion", "2025-11-25"}}, "Mcp-Session-Id: s\r\n")};
      if (method == "notifications/initialized") return {++confirmed <= wrong ? whole(400, "no") : accepted()};
      return {answered(message["id"], greeting)};
    });
    auto client = open(server.url());
    mcp_recorder recorder;
    const auto call = client->call("echo", "", recorder.listener());
    if (wrong == 1)
      CHECK(recorder.finished().ok);
    else
      CHECK_FALSE(recorder.failed().sent);
    CHECK(count(server, "initialize") == 2);
  }
}

TEST_CASE("a session that the server may know all the same is left, unless another call runs in it") {
  std::atomic<bool> refuses = false;
  old_server old([&](const http_ask&, const json& message) -> moves {
    if (message["params"]["name"] == "slow") return {chunked_head(), chunk(progress(message))};
    return {refuses ? whole(400, "no") : answered(message["id"], greeting)};
  });
  const auto left = [&] {
    std::size_t found = 0;
    for (const http_ask& ask : old.server.asks()) found += ask.body.empty() && !is_listening(ask) ? 1 : 0;
    return found;
  };
  auto client = open(old.server.url());
  mcp_recorder slow, refused, again;
  auto running = client->call("slow", "", slow.listener());
  slow.wait_for_progress();
  refuses = true;
  const auto one = client->call("echo", "", refused.listener());
  CHECK(refused.failed().why.code == "mcp_refused");
  CHECK(left() == 0);
  running->cancel("stop", {});
  const auto two = client->call("echo", "", again.listener());
  CHECK(again.failed().why.code == "mcp_refused");
  old.server.until("the session to be left", [&] { return left() == 1; });
  client.reset();
}

TEST_CASE("a call is never sent twice: lost connections, 5xx and 429 are its end") {
  for (const moves& answer :
       {moves{whole(503, "<html>down</html>", {}, "text/html")}, moves{whole(429, "{}")}, moves{reset_now()},
        moves{chunked_head(), chunk(": hm\n\n"), reset_now()}, moves{chunked_head(), last_chunk()}}) {
    old_server old([&](const http_ask&, const json&) -> moves { return answer; });
    auto client = open(old.server.url());
    mcp_recorder recorder;
    const auto call = client->call("echo", "", recorder.listener());
    CHECK(recorder.failed().sent);
    CHECK_THAT(recorder.failed().why.code, Catch::Equals("mcp_unreachable") || Catch::Equals("mcp_broken"));
    client.reset();
    CHECK(count(old.server, "tools/call") == 1);
  }
}

TEST_CASE("handshake and list are tried again, with pauses, and then a fault says so") {
  std::atomic<int> tries = 0;
  http_server server([&](const http_ask& ask) -> moves {
    if (ask.body.empty()) return {whole(200, "")};
    const json message = json::parse(ask.body);
    const std::string method = message["method"];
    if (method == "server/discover") return {whole(404, "")};
    if (method == "initialize")
      return ++tries == 1 ? moves{whole(503, "")} : moves{answered(message["id"], {{"protocolVersion", "2024-11-05"}})};
    if (method == "tools/list")
      return ++tries < 4
                 ? moves{reset_now()}
                 : moves{answered(message["id"],
                                  {{"tools", json::array({json{{"name", "a"}, {"inputSchema", json::object()}}})}})};
    return {accepted()};
  });
  auto client = open(server.url());
  mcp_recorder recorder;
  client->tools(recorder.reply());
  CHECK(recorder.tools()->size() == 1);
  client->tools(recorder.reply());
  CHECK(recorder.tools(2)->size() == 1);
  CHECK(count(server, "tools/list") == 2); // the list was kept
  auto dead = mcp_http_server("gone", "http://127.0.0.1:1/mcp", "", quick());
  mcp_recorder nobody;
  (*dead)->tools(nobody.reply());
  CHECK(nobody.tools().error().code == "mcp_unreachable");
  const auto call = (*dead)->call("x", "", nobody.listener());
  CHECK_FALSE(nobody.failed().sent);
}

TEST_CASE("a key that is not taken is a clear fault without the key") {
  http_server server([](const http_ask&) -> moves {
    return {whole(401, R"({"error":{"message":"key-of-great-secrecy is not welcome"}})")};
  });
  auto client = open(server.url());
  mcp_recorder recorder;
  const auto call = client->call("x", "", recorder.listener());
  const auto failed = recorder.failed();
  CHECK(failed.why.code == "mcp_refused");
  CHECK_FALSE(failed.sent);
  CHECK_THAT(failed.why.detail,
             Catch::Contains("401") && Catch::Contains("*** is not welcome") && Catch::Contains("check the key"));
  CHECK_FALSE(mcp_http_server("x", "ftp://host/mcp", ""));
  CHECK_FALSE(mcp_http_server("x", "no url", ""));
  CHECK_FALSE(mcp_http_server("x", "http://host/mcp", "two\r\nlines"));
}

TEST_CASE("every time limit ends what it limits") {
  http_server silent([](const http_ask&) -> moves { return {}; });
  auto options = quick();
  options.handshake_timeout = 150ms;
  auto client = open(silent.url(), options);
  mcp_recorder recorder;
  client->tools(recorder.reply());
  CHECK(recorder.tools().error().code == "mcp_timeout");
  old_server old([](const http_ask&, const json&) -> moves { return {}; });
  options = quick();
  options.call_timeout = 5000ms;
  auto other = open(old.server.url(), options);
  mcp_recorder slow;
  const auto call = other->call("slow", "", slow.listener());
  CHECK(slow.failed().why.code == "mcp_timeout");
  CHECK(slow.failed().sent);
  old.server.until("the cancel of what took too long",
                   [&] { return count(old.server, "notifications/cancelled") == 1; });
}

TEST_CASE("what is not MCP is a broken server, and nothing of it is read without end") {
  const std::string big(5'000'000, 'y');
  for (const auto& [answer, words] : std::initializer_list<std::pair<moves, std::string>>{
           {{whole(200, "<html>portal</html>", {}, "text/html")}, "portal"},
           {{whole(200, "nonsense")}, "sends no answer"},
           {{whole(200, big)}, "longer than 4 MiB"},
           {{head(200), {move::kind::send, "data: " + big, {}}}, "longer than 4 MiB"},
           {{accepted()}, "202"},
           {{whole(307, "", "Location: http://elsewhere.test/\r\n")}, "redirection"}}) {
    old_server old([&](const http_ask&, const json&) -> moves { return answer; });
    auto client = open(old.server.url());
    mcp_recorder recorder;
    const auto call = client->call("x", "", recorder.listener());
    CHECK_THAT(recorder.failed().why.detail, Catch::Contains(words));
    CHECK(recorder.failed().why.detail.size() < 800);
  }
}
