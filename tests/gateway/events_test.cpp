// Events: live, resumed, filtered, paged, expired.
#include <catch2/catch.hpp>

#include "tests/gateway/event_client.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;
using json = nlohmann::json;

namespace {

/// An event without scope.
records::event_record plain_event(std::string_view type, std::string data) {
  records::event_record event;
  event.type = event_type_of(type).value_or(event_type::unlisted);
  if (event.type == event_type::unlisted) event.unlisted_type = type;
  event.data = std::move(data);
  return event;
}

} // namespace

TEST_CASE("a watcher sees what happens from now on, in order, with the operation as data") {
  gateway_world world;
  world.controller->start_operation("before");
  auto stream = watch(world, "/v1/events");
  const auto id = world.controller->start_operation("team");
  world.controller->end_operation(id, status::completed);
  const auto created = next_event(*stream);
  CHECK(created.type == "operation_created");
  CHECK(created.data["id"] == created.id);
  CHECK(created.data["operation"] == id.text());
  CHECK(created.data["data"]["id"] == id.text());
  const auto completed = next_event(*stream);
  CHECK(completed.type == "operation_completed");
  CHECK(completed.data["data"]["status"] == "completed");
  CHECK(std::stoull(completed.id) > std::stoull(created.id));
}

TEST_CASE("a stream resumes behind the last event without gap or repeat") {
  gateway_world world;
  auto first = watch(world, "/v1/events?after=0");
  const auto a = world.controller->start_operation("team");
  const auto seen = next_event(*first);
  first->close();
  const auto b = world.controller->start_operation("team");
  auto second = watch(world, "/v1/events?after=0", seen.id);
  const auto c = world.controller->start_operation("team");
  CHECK(seen.data["operation"] == a.text());
  CHECK(next_event(*second).data["operation"] == b.text());
  CHECK(next_event(*second).data["operation"] == c.text());
}

TEST_CASE("filters by scope, types and operation let nothing else through") {
  gateway_world world;
  const auto root = world.controller->start_operation("team/a");
  auto by_scope = watch(world, "/v1/events?scope=team/a&types=operation_created,operation_failed");
  auto by_tree = watch(world, "/v1/operations/" + root.text() + "/events");
  auto by_operation = watch(world, "/v1/events?operation=" + root.text());
  const auto other = world.controller->start_operation("team/ab");
  const auto child = world.controller->start_operation("team/a", root);
  world.controller->end_operation(other, status::failed);
  world.controller->end_operation(child, status::completed);
  world.controller->end_operation(root, status::failed);
  CHECK(next_event(*by_scope).data["operation"] == child.text());
  CHECK(next_event(*by_scope).type == "operation_failed");
  CHECK(next_event(*by_tree).data["operation"] == child.text());
  CHECK(next_event(*by_tree).type == "operation_completed");
  CHECK(next_event(*by_tree).data["operation"] == root.text());
  CHECK(next_event(*by_operation).type == "operation_failed");
}

TEST_CASE("an event of a type that this quelld does not list is served as it was stored") {
  gateway_world world;
  auto live = watch(world, "/v1/events");
  world.controller->add_event(plain_event("of_another_version", R"({"n":1})"));
  world.controller->add_event(plain_event("worker_joined", R"({"name":"w1"})"));
  const auto seen = next_event(*live);
  CHECK(seen.type == "of_another_version");
  CHECK(seen.data["type"] == "of_another_version");
  CHECK(seen.data["data"]["n"] == 1);
  const auto events = world.get("/v1/events").json()["events"];
  REQUIRE(events.size() == 2);
  CHECK(events[0]["type"] == "of_another_version");
  const auto joined = world.get("/v1/events?types=worker_joined").json()["events"];
  REQUIRE(joined.size() == 1);
  CHECK(joined[0]["type"] == "worker_joined");
}

TEST_CASE("a filter takes the listed types and no other text") {
  gateway_world world;
  for (const auto& row : listed_event_types) {
    INFO(row.text);
    const auto answer = world.get("/v1/events?types=" + std::string(row.text));
    CHECK(answer.status == (row.type == event_type::output ? 422 : 200));
  }
  for (const std::string text : {"of_another_version", "unlisted", "audit,nothing"}) {
    INFO(text);
    const auto answer = world.get("/v1/events?types=" + text);
    CHECK(answer.status == 422);
    CHECK(answer.body.find("is not an event type") != std::string::npos);
  }
}

TEST_CASE("a cancel's events carry the cancel with its report") {
  gateway_world world;
  world.controller->start_operation("team");
  auto stream = watch(world, "/v1/events?types=cancel_fenced&types=cancel_settled");
  const auto cancel = world.post("/v1/cancels", R"({"scope":"team"})").json()["id"].get<std::string>();
  world.controller->move_cancel(*cancel_id::parse(cancel), cancel_status::settled);
  CHECK(next_event(*stream).data["data"]["id"] == cancel);
  const auto settled = next_event(*stream);
  CHECK(settled.type == "cancel_settled");
  CHECK(settled.data["data"]["report"]["proven"] == true);
}

TEST_CASE("audit events are for admins without a scope only") {
  gateway_world world;
  const auto observer = world.token("observer");
  auto admin = watch(world, "/v1/events");
  http_client plain(world.front->port());
  plain.send_request("GET", "/v1/events", {{"Authorization", "Bearer " + observer}, {"Accept", "Text/Event-Stream"}});
  CHECK(plain.read_head().status == 200);
  plain.read_until("\n\n");
  world.controller->add_event(plain_event("audit", R"({"action":"token_create"})"));
  world.controller->add_event(plain_event("worker_joined", R"({"name":"w1"})"));
  CHECK(next_event(*admin).type == "audit");
  CHECK(next_event(plain).type == "worker_joined");
}

TEST_CASE("a token with a scope sees events inside it only, live and resumed alike") {
  gateway_world world;
  const header_list headers = {{"Authorization", "Bearer " + world.token("observer", "team/a")},
                               {"Accept", "text/event-stream"}};
  http_client live(world.front->port());
  live.send_request("GET", "/v1/events?after=0", headers);
  REQUIRE(live.read_head().status == 200);
  live.read_until("\n\n");
  world.controller->add_event(plain_event("worker_joined", "{}"));
  world.controller->start_operation("team/ab");
  const auto inside = world.controller->start_operation("team/a/b");
  CHECK(next_event(live).data["operation"] == inside.text());
  http_client resumed(world.front->port());
  resumed.send_request("GET", "/v1/events?after=0", headers);
  REQUIRE(resumed.read_head().status == 200);
  resumed.read_until("\n\n");
  CHECK(next_event(resumed).data["operation"] == inside.text());
}

TEST_CASE("without SSE the kept events come in pages") {
  gateway_world world;
  for (int i = 0; i < 5; ++i) world.controller->start_operation("team");
  const auto first = world.get("/v1/events?limit=3").json();
  CHECK(first["events"].size() == 3);
  const auto rest = world.get("/v1/events?limit=3&after=" + first["next_cursor"].get<std::string>()).json();
  CHECK(rest["events"].size() == 2);
  CHECK(rest["next_cursor"].is_null());
}

TEST_CASE("events that are no longer kept are 410 with the oldest that is, before the stream opens") {
  gateway_world world;
  std::uint64_t last = 0;
  nlohmann::json oldest;
  // The store prunes in steps: more events until the first is gone.
  for (int i = 0; i < 5000 && (oldest.is_null() || oldest["events"][0]["id"] == "1"); ++i) {
    last = world.controller->add_event(plain_event("worker_joined", "{}"));
    if (i % 100 == 99) oldest = world.get("/v1/events?limit=1").json();
  }
  REQUIRE(last > 50);
  const auto expired = world.ask("GET", "/v1/events?after=1", gateway_world::watching());
  CHECK(expired.status == 410);
  CHECK(expired.code() == "events_expired");
  CHECK(expired.json()["oldest"] == oldest["events"][0]["id"]);
  CHECK(world.get("/v1/events?after=1").status == 410);
}

TEST_CASE("a silent stream carries comments, and a client that goes is noticed") {
  gateway_world world([](gateway_options& options) { options.comment_interval = milliseconds{20}; });
  auto stream = watch(world, "/v1/events");
  CHECK(stream->read_until("\n\n").starts_with(":"));
  const auto open_streams = [&] {
    const auto text = world.get("/metrics").body;
    const std::string name = "\nquell_http_event_streams ";
    return text.substr(text.find(name) + name.size(), 1);
  };
  CHECK(open_streams() == "1");
  stream->close();
  bool gone = false;
  const auto deadline = std::chrono::steady_clock::now() + testing::patient(std::chrono::seconds(60));
  while (!gone && std::chrono::steady_clock::now() < deadline) gone = open_streams() == "0";
  INFO("waited in vain for the stream to be noticed as closed");
  CHECK(gone);
}

TEST_CASE("a client that goes while nothing happens is noticed without a write") {
  gateway_world world([](gateway_options& options) { options.comment_interval = milliseconds{3'600'000}; });
  auto stream = watch(world, "/v1/events");
  stream->close();
  bool gone = false;
  const auto deadline = std::chrono::steady_clock::now() + testing::patient(std::chrono::seconds(60));
  while (!gone && std::chrono::steady_clock::now() < deadline)
    gone = world.get("/metrics").body.find("\nquell_http_event_streams 0\n") != std::string::npos;
  CHECK(gone);
}

TEST_CASE("a watcher that reads nothing is closed when it lags too far, and resumes by id") {
  gateway_world world([](gateway_options& options) { options.max_lag_events = 20; }, 1000);
  auto stream = watch(world, "/v1/events");
  const std::string data = "{\"filler\":\"" + std::string(200'000, 'x') + "\"}";
  std::uint64_t last = 0;
  for (int i = 0; i < 120; ++i) last = world.controller->add_event(plain_event("worker_joined", data));
  CHECK(world.get("/v1/status").status == 200); // the gateway has passed on every event when it answers this
  std::string newest;
  bool ended = false;
  try {
    while (true) newest = next_event(*stream).id;
  } catch (const std::runtime_error&) {
    ended = true;
  }
  CHECK(ended);
  CHECK(std::stoull(newest) < last);
  auto again = watch(world, "/v1/events", newest);
  CHECK(std::stoull(next_event(*again).id) == std::stoull(newest) + 1);
}
