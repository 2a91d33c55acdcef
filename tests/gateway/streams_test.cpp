// Streams have threads of their own: they delay no request, and their connections come back for the next one.
#include <catch2/catch.hpp>

#include "tests/gateway/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;

namespace {

std::string path_of(const operation_id& id) { return "/v1/operations/" + id.text(); }

/// Holds the thread of the streams while it lives.
struct held_streams {
  explicit held_streams(gateway_world& w, const operation_id& id) : world(w), follower(w.front->port()) {
    world.output.write(id, stream::out, "before");
    world.output.hold_watchers();
    follower.send_request("GET", path_of(id) + "/output?follow=true", gateway_world::admin());
    if (follower.read_head().status != 200) throw std::runtime_error("the output was refused");
    world.output.wait_until_held();
  }
  ~held_streams() { world.output.release(); }
  gateway_world& world;
  http_client follower;
};

} // namespace

TEST_CASE("while the thread of the streams does not come to anything, requests and cancels are answered") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  {
    held_streams held(world, id);
    CHECK(world.get(path_of(id)).status == 200);
    CHECK(world.get("/v1/operations?limit=5").status == 200);
    auto kept = world.connect();
    for (int i = 0; i < 3; ++i) CHECK(kept.ask("GET", path_of(id), gateway_world::admin()).status == 200);
    std::vector<std::unique_ptr<http_client>> streams;
    for (int i = 0; i < 20; ++i) {
      streams.push_back(std::make_unique<http_client>(world.front->port()));
      streams.back()->send_request("GET", "/v1/events?after=0", gateway_world::watching());
      CHECK(streams.back()->read_head().status == 200);
    }
    const auto cancel = world.post("/v1/cancels", R"({"scope":"team"})");
    CHECK(cancel.status < 300);
    world.output.release();
    for (const auto& stream : streams) stream->read_until("operation_created");
    world.output.write(id, stream::out, " and after");
    CHECK(held.follower.read_until("after").ends_with("and after"));
  }
}

TEST_CASE("a connection is good for further requests and streams after a stream") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  const std::string text(700'000, 'x'); // more than one slice, so it is streamed
  world.output.write(id, stream::out, text);
  auto client = world.connect();
  for (int i = 0; i < 3; ++i) {
    CHECK(client.ask("GET", path_of(id) + "/output", gateway_world::admin()).body == text);
    CHECK(client.ask("GET", path_of(id), gateway_world::admin()).status == 200);
  }
  // Several at once: what was sent behind a stream's request is answered after the stream.
  for (int i = 0; i < 3; ++i) {
    client.send_request("GET", path_of(id) + "/output", gateway_world::admin());
    client.send_request("GET", path_of(id), gateway_world::admin());
  }
  for (int i = 0; i < 3; ++i) {
    CHECK(client.read_reply().body == text);
    CHECK(client.read_reply().json()["id"] == id.text());
  }
}

TEST_CASE("a stream ends at once with its token, whatever it waits for") {
  gateway_world world([](gateway_options& options) { options.comment_interval = milliseconds{3'600'000}; });
  const auto made = world.post("/v1/tokens", R"({"name":"watcher","role":"observer"})").json();
  const auto secret = made["token"].get<std::string>();
  const auto id = world.controller->start_operation("team");
  auto headers = gateway_world::with(secret);
  auto output = world.connect();
  output.send_request("GET", path_of(id) + "/output?follow=true", headers);
  REQUIRE(output.read_head().status == 200);
  headers.emplace_back("Accept", "text/event-stream");
  auto events = world.connect();
  events.send_request("GET", "/v1/events", headers);
  REQUIRE(events.read_head().status == 200);
  events.read_until("\n\n");
  world.output.wait_for_watcher(id);
  CHECK(world.ask("DELETE", "/v1/tokens/" + made["id"].get<std::string>(), gateway_world::admin()).status == 204);
  CHECK(events.at_end());
  CHECK(output.at_end());
}

TEST_CASE("the gateway ends in order while streams are open, some of whose clients read nothing") {
  std::vector<std::unique_ptr<http_client>> streams;
  {
    gateway_world world;
    const auto id = world.controller->start_operation("team");
    world.output.write(id, stream::out, std::string(8'000'000, 'x'));
    for (int i = 0; i < 10; ++i) {
      streams.push_back(std::make_unique<http_client>(world.front->port()));
      streams.back()->send_request("GET", i % 2 == 0 ? "/v1/events" : path_of(id) + "/output?follow=true",
                                   gateway_world::watching());
      REQUIRE(streams.back()->read_head().status == 200);
    }
    streams.resize(8); // and two whose clients have just gone
  }
  while (streams.front()->read_chunk()) continue; // to the last one, which says that the answer is whole
  CHECK(streams.front()->at_end());
}
