// The files of the web console and the tree that it reads, over the wire.
#include <catch2/catch.hpp>

#include "gateway/console.hpp"
#include "tests/gateway/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;

TEST_CASE("the console is served at / and at the links to its views, with nothing foreign allowed") {
  gateway_world world;
  for (const char* path : {"/", "/tree", "/operations/01a1f869-3df9-7303-8207-dde70bee07dd"}) {
    INFO(path);
    const auto page = world.ask("GET", path, {{"Accept", "text/html,*/*"}});
    REQUIRE(page.status == 200);
    CHECK(page.header("content-type") == "text/html; charset=utf-8");
    const auto policy = page.header("content-security-policy");
    CHECK(policy.find("default-src 'none'") != std::string::npos);
    CHECK(policy.find("unsafe") == std::string::npos);
    CHECK(policy.find("frame-ancestors 'none'") != std::string::npos);
    CHECK(page.header("x-content-type-options") == "nosniff");
    CHECK(page.body.find("http") == std::string::npos); // the page loads nothing from other hosts
  }
}

TEST_CASE("what is unchanged is not sent again, and what a client can unpack is sent packed") {
  gateway_world world;
  const auto plain = world.ask("GET", "/", {{"Accept", "text/html"}});
  const auto etag = plain.header("etag");
  REQUIRE_FALSE(etag.empty());
  const auto same = world.ask("GET", "/", {{"Accept", "text/html"}, {"If-None-Match", etag}});
  CHECK(same.status == 304);
  CHECK(same.body.empty());
  const auto packed = world.ask("GET", "/", {{"Accept", "text/html"}, {"Accept-Encoding", "gzip, br"}});
  CHECK(packed.header("content-encoding") == "gzip");
  CHECK(packed.body.substr(0, 2) == "\x1f\x8b");
  const auto at = plain.body.find("/assets/");
  REQUIRE(at != std::string::npos);
  const auto asset = plain.body.substr(at, plain.body.find('"', at) - at);
  CHECK(world.ask("GET", asset, {}).header("cache-control").find("immutable") != std::string::npos);
}

TEST_CASE("the API stays what it was for paths that there are not") {
  gateway_world world;
  for (const char* path : {"/v1/nothing", "/assets/nothing.js", "/api/nothing"}) {
    INFO(path);
    CHECK(world.ask("GET", path, {{"Accept", "text/html"}}).status == 404);
  }
  CHECK(world.ask("GET", "/tree", {{"Accept", "application/json"}}).code() == "not_found");
  CHECK(world.ask("POST", "/", {{"Accept", "text/html"}}).status == 404);
}

TEST_CASE("a broken pack holds what is whole of it") {
  CHECK(http::read_console_pack("").empty());
  CHECK(http::read_console_pack("/a text/html e 5 0\n").empty());
  const auto files = http::read_console_pack("/a text/html e 3 2\n/b text/css f 900 0\n\nabcZZ");
  REQUIRE(files.size() == 1);
  CHECK(files.at("/a").plain == "abc");
  CHECK(files.at("/a").gzipped == "ZZ");
}

TEST_CASE("the tree wants good parameters and shows nobody what he may not see") {
  gateway_world world;
  CHECK(world.get("/v1/tree").status == 200);
  for (const char* bad : {"?by=colour", "?cursor=x", "?limit=0", "?scope=..", "?parent=1", "?unknown=1"}) {
    INFO(bad);
    CHECK(world.get("/v1/tree" + std::string(bad)).status == 422);
  }
  CHECK(world.get("/v1/tree?parent=" + operation_id::fresh().text()).code() == "operation_not_found");
  const auto mine = world.controller->start_operation("team");
  const auto token = world.token("observer", "other");
  CHECK(world.ask("GET", "/v1/tree?parent=" + mine.text(), gateway_world::with(token)).status == 404);
  CHECK(world.ask("GET", "/v1/tree?scope=team", gateway_world::with(token)).code() == "scope_forbidden");
  CHECK(world.get("/v1/tree?parent=" + mine.text()).json()["operations"].empty());
}
