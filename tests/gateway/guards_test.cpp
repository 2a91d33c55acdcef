// Checks before every handler: the rate of a token, the origins of web pages, and tokens that expire while they are in
// use.
#include <catch2/catch.hpp>

#include <chrono>

#include "controller/json/instant.hpp"
#include "tests/gateway/world.hpp"
#include "tests/patience.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;

namespace {

header_list from_page(const std::string& origin) {
  auto headers = gateway_world::admin();
  headers.emplace_back("Origin", origin);
  return headers;
}

header_list asking_first(const std::string& origin) {
  return {{"Origin", origin},
          {"Access-Control-Request-Method", "POST"},
          {"Access-Control-Request-Headers", "authorization"}};
}

void allow_page(gateway_options& o) { o.cors_origins = {"https://bots.example"}; }

} // namespace

TEST_CASE("a token that asks too often is told to wait, alone, and its cancels are taken all the same") {
  gateway_world world([](gateway_options& o) { o.requests_per_second = 0.001; }); // a burst of one, then nothing
  const auto mine = gateway_world::with(world.token("operator", "team")),
             other = gateway_world::with(world.token("observer"));
  CHECK(world.ask("GET", "/v1/status", mine).status == 200);
  const auto refused = world.ask("GET", "/v1/operations", mine);
  CHECK(refused.status == 429);
  CHECK(refused.code() == "rate_limited");
  CHECK(refused.header("retry-after") == "1");
  CHECK(world.ask("GET", "/v1/status", other).status == 200);
  const auto id = world.controller->start_operation("team");
  for (int i = 0; i < 5; ++i) CHECK(world.ask("POST", "/v1/cancels", mine, R"({"scope":"team"})").status == 202);
  CHECK(world.ask("POST", "/v1/operations/" + id.text() + "/cancel", mine).status == 202);
  CHECK(world.ask("POST", "/api/turns/" + id.text() + "/abort", mine).status ==
        404); // not found, but not refused for load
  // The owner of client.json owns the machine, so the bootstrap token has no rate limit.
  for (int i = 0; i < 5; ++i) CHECK(world.get("/v1/status").status == 200);
  CHECK(world.get("/metrics").body.find("quell_http_requests_rate_limited_total 1\n") != std::string::npos);
}

TEST_CASE("no page of another origin may call while no origin is configured") {
  gateway_world world;
  CHECK(world.ask("OPTIONS", "/v1/cancels", asking_first("https://bots.example")).status == 405);
  const auto answer = world.ask("GET", "/v1/status", from_page("https://bots.example"));
  CHECK(answer.status == 200);
  CHECK(answer.header("access-control-allow-origin").empty());
  CHECK(answer.header("vary").empty());
}

TEST_CASE("a configured origin may call and read, exactly it and without credentials") {
  gateway_world world(allow_page);
  const auto may = world.ask("OPTIONS", "/v1/cancels", asking_first("https://bots.example"));
  CHECK(may.status == 204);
  CHECK(may.header("access-control-allow-origin") == "https://bots.example");
  CHECK(may.header("access-control-allow-headers").find("Authorization") != std::string::npos);
  CHECK(may.header("access-control-allow-headers").find("Last-Event-ID") != std::string::npos);
  CHECK(may.header("access-control-allow-methods") == "GET, POST, DELETE");
  CHECK(may.header("access-control-allow-credentials").empty());
  const auto read = world.ask("GET", "/v1/status", from_page("https://bots.example"));
  CHECK(read.header("access-control-allow-origin") == "https://bots.example");
  CHECK(read.header("access-control-expose-headers").find("Quell-Offset") != std::string::npos);
  CHECK(read.header("vary") == "Origin");
  // A refusal must be readable for the page, or it cannot show the reason.
  CHECK(world.ask("GET", "/nowhere", from_page("https://bots.example")).header("access-control-allow-origin") ==
        "https://bots.example");
}

TEST_CASE("no other origin is let in, however like the configured one it looks") {
  gateway_world world(allow_page);
  for (const char* origin :
       {"http://bots.example", "https://bots.example.evil.test", "https://bots.example:444", "null",
        "https://BOTS.example", "https://bots.example/", "https://evil.bots.example", "*"}) {
    INFO(origin);
    CHECK(world.ask("OPTIONS", "/v1/cancels", asking_first(origin)).status == 405);
    CHECK(world.ask("GET", "/v1/status", from_page(origin)).header("access-control-allow-origin").empty());
  }
}

TEST_CASE("a revoked token ends the streams that it opened") {
  gateway_world world([](gateway_options& o) { o.comment_interval = milliseconds{50}; });
  const auto made = world.post("/v1/tokens", R"({"name":"phone","role":"observer"})").json();
  auto headers = gateway_world::with(made["token"]);
  headers.emplace_back("Accept", "text/event-stream");
  auto watching = world.connect();
  watching.send_request("GET", "/v1/events", headers);
  CHECK(watching.read_head().status == 200);
  watching.read_until(": still here\n\n");
  CHECK(world.ask("DELETE", "/v1/tokens/" + made["id"].get<std::string>(), gateway_world::admin()).status == 204);
  CHECK(watching.at_end());
}

TEST_CASE("an expired token says that it has expired and when") {
  gateway_world world;
  const auto soon = std::chrono::floor<milliseconds>(std::chrono::system_clock::now()) + milliseconds{8000};
  const auto made =
      world.post("/v1/tokens", R"({"name":"short","role":"admin","expires_at":")" + http::instant_text(soon) + "\"}");
  REQUIRE(made.status == 201);
  const auto used = [&] { return world.ask("GET", "/v1/status", gateway_world::with(made.json()["token"])); };
  const auto deadline = std::chrono::steady_clock::now() + testing::patient(std::chrono::seconds{60});
  while (used().status != 401) REQUIRE(std::chrono::steady_clock::now() < deadline); // waited for the token to expire
  const auto detail = used().json()["detail"].get<std::string>();
  CHECK(detail.find("'short' expired at " + http::instant_text(soon)) != std::string::npos);
}

TEST_CASE("the last use of a token is shown at once and stored once in a while") {
  gateway_world world;
  const auto token = gateway_world::with(world.token("observer"));
  CHECK(world.get("/v1/tokens").json()["tokens"][0]["last_used_at"].is_null());
  for (int i = 0; i < 3; ++i) CHECK(world.ask("GET", "/v1/status", token).status == 200);
  CHECK(world.get("/v1/tokens").json()["tokens"][0]["last_used_at"].is_string());
  const auto written = world.controller->tokens_put();
  REQUIRE(written.size() == 2); // its creation and its first use
  CHECK(written.at(1).last_used_at.has_value());
}
