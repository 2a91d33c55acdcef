// Output and input over the wire.
#include <catch2/catch.hpp>

#include "tests/gateway/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;
using json = nlohmann::json;

namespace {

std::string path_of(const operation_id& id) { return "/v1/operations/" + id.text() + "/output"; }

} // namespace

TEST_CASE("output comes as raw bytes of one stream, cut by offset, limit or tail") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  world.output.write(id, stream::out, std::string("one\0two\n", 8));
  world.output.write(id, stream::err, "oops\n");
  const auto all = world.get(path_of(id));
  CHECK(all.status == 200);
  CHECK(all.header("content-type") == "application/octet-stream");
  CHECK(all.body == std::string("one\0two\n", 8));
  CHECK(all.header("quell-offset") == "0");
  CHECK(all.header("quell-end") == "false");
  CHECK(all.header("quell-dropped") == "0");
  CHECK(world.get(path_of(id) + "?stream=stderr").body == "oops\n");
  CHECK(world.get(path_of(id) + "?offset=4&limit_bytes=3").body == "two");
  const auto tail = world.get(path_of(id) + "?tail_bytes=4");
  CHECK(tail.body == "two\n");
  CHECK(tail.header("quell-offset") == "4");
  CHECK(world.get(path_of(id) + "?offset=100").body.empty());
  world.output.end(id);
  CHECK(world.get(path_of(id)).header("quell-end") == "true");
  CHECK(world.get(path_of(id) + "?limit_bytes=2").header("quell-end") == "false");
}

TEST_CASE("output larger than one slice comes whole") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  std::string text;
  for (int i = 0; text.size() < 1'500'000; ++i) text += "line " + std::to_string(i) + "\n";
  world.output.write(id, stream::out, text);
  CHECK(world.get(path_of(id)).body == text);
  CHECK(world.get(path_of(id) + "?offset=7&limit_bytes=700000").body == text.substr(7, 700'000));
}

TEST_CASE("an operation without output has an empty one, with an end once it ended") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  CHECK(world.get(path_of(id)).header("quell-end") == "false");
  world.controller->end_operation(id, status::cancelled);
  const auto none = world.get(path_of(id));
  CHECK(none.status == 200);
  CHECK(none.body.empty());
  CHECK(none.header("quell-end") == "true");
  CHECK(world.get(path_of(operation_id::fresh())).status == 404);
}

TEST_CASE("output that is on its way when its operation has ended has not ended") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  world.output.expect(id);
  world.controller->end_operation(id, status::completed);
  CHECK(world.get(path_of(id)).header("quell-end") == "false");
  world.output.write(id, stream::out, "late");
  world.output.end(id);
  const auto all = world.get(path_of(id));
  CHECK(all.body == "late");
  CHECK(all.header("quell-end") == "true");
}

TEST_CASE("an operation that comes, writes and ends between two looks has its output") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  world.output.behind_look(2, [&world, id] { // an answer's head takes two
    world.output.write(id, stream::out, "all");
    world.output.end(id);
    world.controller->end_operation(id, status::completed);
  });
  const auto all = world.get(path_of(id));
  CHECK(all.body == "all");
  CHECK(all.header("quell-end") == "true");
}

TEST_CASE("a follower gets what is there, what comes, and the end with its trailer") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  world.output.write(id, stream::out, "first ");
  auto client = world.connect();
  client.send_request("GET", path_of(id) + "?follow=true", gateway_world::admin());
  CHECK(client.read_head().header("quell-end") == "false");
  CHECK(client.read_until("first ") == "first ");
  world.output.wait_for_watcher(id);
  world.output.write(id, stream::err, "not this");
  world.output.write(id, stream::out, "second");
  CHECK(client.read_until("second") == "second");
  world.output.end(id);
  CHECK_FALSE(client.read_chunk());
  CHECK(client.trailers().find("quell-end")->second == "true");
  CHECK(client.ask("GET", "/healthz").status == 200); // and the connection stays open
}

TEST_CASE("both streams come as events in the order received and resume behind the last one") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  world.output.write(id, stream::out, "a");
  world.output.write(id, stream::err, "b");
  world.output.write(id, stream::out, "\xff");
  http_client client(world.front->port());
  client.send_request("GET", path_of(id), gateway_world::watching());
  CHECK(client.read_head().header("content-type") == "text/event-stream");
  const auto data_of = [](const std::string& frame) { return json::parse(frame.substr(frame.find("data: ") + 6)); };
  client.read_until("retry: 1000\n\n");
  const auto first = client.read_until("\n\n");
  CHECK(first.find("id: 1\n") != std::string::npos);
  CHECK(data_of(first)["type"] == "output");
  CHECK(data_of(first)["data"] == json({{"stream", "stdout"}, {"offset", 0}, {"text", "a"}}));
  CHECK(data_of(client.read_until("\n\n"))["data"] == json({{"stream", "stderr"}, {"offset", 0}, {"text", "b"}}));
  CHECK(data_of(client.read_until("\n\n"))["data"] == json({{"stream", "stdout"}, {"offset", 1}, {"base64", "/w=="}}));
  world.output.wait_for_watcher(id);
  world.output.write(id, stream::err, "c");
  CHECK(client.read_until("\n\n").find("id: 4\n") != std::string::npos);
  world.output.end(id);
  CHECK_FALSE(client.read_chunk());
  CHECK(client.trailers().find("quell-end")->second == "true");

  http_client again(world.front->port());
  again.send_request("GET", path_of(id), gateway_world::watching("3"));
  again.read_head();
  again.read_until("retry: 1000\n\n");
  CHECK(data_of(again.read_until("\n\n"))["data"]["text"] == "c");
  CHECK_FALSE(again.read_chunk());
  CHECK(again.trailers().empty()); // what came before is not known here, so neither is whether it was all
  for (const std::string part : {"?stream=stderr", "?tail_bytes=10"}) {
    http_client of_part(world.front->port());
    of_part.send_request("GET", path_of(id) + part, gateway_world::watching());
    of_part.read_head();
    of_part.read_until("\"text\":\"c\"");
    of_part.read_until("\n\n");
    CHECK_FALSE(of_part.read_chunk());
    CHECK(of_part.trailers().empty());
  }
}

TEST_CASE("events of output lose nothing when the pieces are numbered anew at the end") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  const int pairs = GENERATE(1, 3);
  const std::string begun = std::string("123").substr(0, static_cast<std::size_t>(pairs));
  for (const char one : begun) {
    world.output.write(id, stream::out, {one});
    world.output.write(id, stream::err, {one});
  }
  const auto last = std::to_string(2 * pairs);
  auto client = world.connect();
  client.send_request("GET", path_of(id), gateway_world::watching());
  client.read_head();
  client.read_until("id: " + last + "\n");
  client.read_until("\n\n");
  world.output.wait_for_watcher(id);
  const auto rest = std::string("12345").substr(begun.size());
  world.output.settle(id, rest, rest);
  const auto text_at = [](const std::string& frame) {
    const auto data = json::parse(frame.substr(frame.find("data: ") + 6))["data"];
    return data["stream"].get<std::string>() + data["offset"].dump() + data["text"].get<std::string>();
  };
  const auto next = [&text_at](http_client& from) { return text_at(from.read_until("\n\n")); };
  CHECK(next(client) == "stdout" + std::to_string(pairs) + rest);
  if (pairs == 1) CHECK(next(client) == "stderr12");
  CHECK(next(client) == (pairs == 1 ? "stderr2345" : "stderr345"));
  CHECK_FALSE(client.read_chunk());
  CHECK(client.trailers().find("quell-end")->second == "true");

  http_client late(world.front->port()); // no piece has this number any more
  late.send_request("GET", path_of(id), gateway_world::watching("6"));
  late.read_head();
  late.read_until("retry: 1000\n\n");
  CHECK(next(late) == "stdout012345");
  CHECK(next(late) == "stderr012");
  CHECK(next(late) == "stderr2345");
  CHECK_FALSE(late.read_chunk());
}

TEST_CASE("events of output do not count as whole if a piece could not be read") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  world.output.write(id, stream::out, "first");
  world.output.write(id, stream::out, "last");
  world.output.make_unreadable(id, 5);
  world.output.end(id);
  world.controller->end_operation(id, status::completed);
  auto client = world.connect();
  client.send_request("GET", path_of(id), gateway_world::watching());
  client.read_head();
  client.read_until("\"text\":\"first\"");
  client.read_until("\n\n");
  CHECK_FALSE(client.read_chunk());
  CHECK(client.trailers().empty());
}

TEST_CASE("input needs a task that asked for it, an offset, and the right to steer") {
  gateway_world world;
  world.controller->add_worker("w1");
  const auto made =
      world.post("/v1/operations", R"({"kind":"task","task":{"command":["cat"],"stdin":true,"pty":true}})").json();
  const auto id = *operation_id::parse(made["id"].get<std::string>());
  const std::string path = "/v1/operations/" + id.text();
  CHECK(world.post(path + "/input?offset=0", "x").code() == "not_started");
  world.controller->change_operation(id, [](live_view& view) {
    view.hot.now = status::running;
    view.hot.worker = "w1";
  });
  CHECK(world.post(path + "/input", "x").code() == "invalid_field");
  auto headers = gateway_world::admin();
  headers.emplace_back("Content-Type", "application/octet-stream");
  const auto taken = world.ask("POST", path + "/input?offset=3&end=true", headers, "bytes");
  CHECK(taken.status == 200);
  CHECK(taken.json()["offset"] == 8);
  CHECK(world.output.inputs() == std::vector<std::string>{"w1 3 bytes end"});
  CHECK(world.ask("POST", path + "/input?offset=0", gateway_world::with(world.token("chat")), "x").status == 403);
  CHECK(world.post(path + "/resize", R"({"rows":50,"columns":132})").status == 204);
  CHECK(world.controller->last_resize() == std::pair<std::uint16_t, std::uint16_t>{50, 132});
  const auto deaf = world.controller->start_operation("team").text();
  CHECK(world.post("/v1/operations/" + deaf + "/input?offset=0", "x").code() == "invalid_field");
  world.controller->end_operation(id, status::completed);
  CHECK(world.post(path + "/input?offset=8", "x").code() == "already_terminal");
}
