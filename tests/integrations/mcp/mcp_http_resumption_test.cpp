// The MCP client over HTTP against a real server: answers whose stream ends too early.
#include "tests/integrations/mcp/mcp_old_server.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;

namespace {

const std::string primed = "id: e-1\nretry: 100\ndata: \n\n";

/// The last request that resumes an answer.
http_ask last_rest(const http_server& server) {
  http_ask found;
  for (const http_ask& ask : server.asks())
    if (ask.headers.contains("last-event-id")) found = ask;
  return found;
}
std::size_t rests(const http_server& server) {
  std::size_t found = 0;
  for (const http_ask& ask : server.asks()) found += ask.headers.contains("last-event-id") ? 1 : 0;
  return found;
}
json call_of(const http_server& server) {
  for (const http_ask& ask : server.asks())
    if (method_of(ask) == "tools/call") return json::parse(ask.body);
  return {};
}

} // namespace

TEST_CASE("a stream that the server closes behind an id is resumed there, and the call is not sent again") {
  for (const move& cut : {last_chunk(), reset_now()}) {
    std::atomic<int> gets = 0;
    const http_server* there = nullptr;
    old_server old(
        [&](const http_ask&, const json&) -> moves {
          return {chunked_head(), chunk(primed), cut};
        },
        [&](const http_ask&) -> moves {
          const json call = call_of(*there);
          if (++gets == 1) return {chunked_head(), chunk(progress(call)), last_chunk()};
          return {chunked_head(), chunk(event(json::parse(answer_text(call["id"], greeting)))), last_chunk()};
        });
    there = &old.server;
    auto client = open(old.server.url());
    mcp_recorder recorder;
    const auto call = client->call("slow", "", recorder.listener());
    CHECK(json::parse(recorder.finished().result) == greeting);
    CHECK(recorder.count_of_progress() == 1);
    CHECK(count(old.server, "tools/call") == 1);
    CHECK(rests(old.server) == 2);
    const http_ask second = last_rest(old.server);
    CHECK(second.headers.at("last-event-id") == "7"); // the id of the progress event
    CHECK(second.headers.at("accept") == "text/event-stream");
    CHECK(second.headers.at("mcp-session-id") == "s-1");
    CHECK(second.headers.at("mcp-protocol-version") == "2025-11-25");
    CHECK(second.headers.at("authorization") == "Bearer key-of-great-secrecy");
  }
}

TEST_CASE("the pause that the server asks for is kept") {
  old_server old([&](const http_ask&, const json&) -> moves {
    return {chunked_head(), chunk("id: a\nretry: 3600000\ndata: \n\n"), last_chunk()};
  });
  auto client = open(old.server.url());
  mcp_recorder recorder, other;
  const auto call = client->call("slow", "", recorder.listener());
  const auto next = client->call("slow", "", other.listener());
  old.server.until("both calls", [&] { return count(old.server, "tools/call") == 2; });
  // Between two streams it is a running call: the cancel is posted.
  call->cancel("stop", recorder.late());
  CHECK_THAT(recorder.wait_for_late(), Catch::Equals("ignored"));
  CHECK(count(old.server, "notifications/cancelled") == 1);
  client.reset();
  CHECK(other.failed().sent);
  CHECK(rests(old.server) == 0);
}

TEST_CASE("a cancel closes a stream that was resumed") {
  const http_server* there = nullptr;
  old_server old(
      [&](const http_ask&, const json&) -> moves {
        return {chunked_head(), chunk(primed), last_chunk()};
      },
      [&](const http_ask&) -> moves {
        return {chunked_head(), chunk(progress(call_of(*there)))};
      });
  there = &old.server;
  auto client = open(old.server.url());
  mcp_recorder recorder;
  const auto call = client->call("slow", "", recorder.listener());
  recorder.wait_for_progress();
  const auto before = old.server.hung_up();
  call->cancel("stop", recorder.late());
  CHECK(recorder.wait_for_late() == "ignored");
  old.server.until("the hang-up", [&] { return old.server.hung_up() == before + 1; });
  CHECK(count(old.server, "notifications/cancelled") == 1);
}

TEST_CASE(
    "what cannot be resumed is lost: refused, session gone, no id, an id that no header can hold, or not for ever") {
  struct play {
    std::string first;
    moves rest;
    std::size_t gets;
  };
  for (const play& one :
       {play{primed, {whole(405, "")}, 1}, play{primed, {whole(404, "")}, 1}, play{primed, {whole(503, "")}, 4},
        play{primed, {reset_now()}, 4}, play{"retry: 100\ndata: \n\n", {}, 0}, play{"id: \x01\ndata: \n\n", {}, 0},
        play{"id: " + std::string(2'000, 'x') + "\ndata: \n\n", {}, 0}}) {
    old_server old(
        [&](const http_ask&, const json&) -> moves {
          return {chunked_head(), chunk(one.first), last_chunk()};
        },
        [&](const http_ask&) -> moves { return one.rest; });
    auto client = open(old.server.url());
    mcp_recorder recorder;
    const auto call = client->call("slow", "", recorder.listener());
    CHECK(recorder.failed().sent);
    CHECK(rests(old.server) == one.gets);
    CHECK(count(old.server, "tools/call") == 1);
  }
}

TEST_CASE("the newest version has no resumption: a lost stream is lost") {
  http_server server([](const http_ask& ask) -> moves {
    const json message = json::parse(ask.body);
    if (message["method"] == "server/discover")
      return {answered(message["id"], {{"resultType", "complete"}, {"supportedVersions", {"2026-07-28"}}})};
    return {chunked_head(), chunk(primed), last_chunk()};
  });
  auto client = open(server.url());
  mcp_recorder recorder;
  const auto call = client->call("slow", "", recorder.listener());
  CHECK(recorder.failed().sent);
  CHECK(rests(server) == 0);
}
