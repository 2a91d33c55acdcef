// Operations over the wire: create, get, list, the long poll.
#include <catch2/catch.hpp>

#include <set>

#include "tests/gateway/world.hpp"
#include "tests/patience.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;

namespace {

const std::string task = R"({"kind":"task","scope":"team","title":"t","task":{"command":["true"]}})";

std::string with_id(const operation_id& id) {
  auto body = nlohmann::json::parse(task);
  body["id"] = id.text();
  return body.dump();
}

} // namespace

TEST_CASE("a create answers 201 with the whole operation, its place, and who asked") {
  gateway_world world;
  const auto made = world.post("/v1/operations", task);
  CHECK(made.status == 201);
  const auto j = made.json();
  CHECK(made.header("location") == "/v1/operations/" + j["id"].get<std::string>());
  CHECK(j["status"] == "pending");
  CHECK(j["waiting_for"]["what"] == "slot");
  CHECK(j["owner"] == nlohmann::json({{"id", "root"}, {"name", "Root"}}));
  CHECK(world.controller->creates().at(0).by.role == role::admin);
  CHECK(world.get("/v1/operations/" + j["id"].get<std::string>()).json() == j);
}

TEST_CASE("to return=minimal a create answers with the id alone, and says so") {
  gateway_world world;
  const auto id = operation_id::fresh();
  auto headers = gateway_world::admin();
  headers.emplace_back("Prefer", "respond-async, Return=Minimal");
  for (const unsigned status : {201u, 200u}) { // the second one repeats it
    const auto made = world.ask("POST", "/v1/operations", headers, with_id(id));
    CHECK(made.status == status);
    CHECK(made.header("preference-applied") == "return=minimal");
    CHECK(made.json() == nlohmann::json({{"id", id.text()}}));
    if (status == 201) CHECK(made.header("location") == "/v1/operations/" + id.text());
  }
  const auto refused = world.ask("POST", "/v1/operations", headers, R"({"kind":"task"})");
  CHECK(refused.status == 422);
  CHECK(refused.code() == "invalid_field");
  CHECK(world.get("/v1/operations/" + id.text()).json()["id"] == id.text());
}

TEST_CASE("the same id with the same body is 200 and the same object, also after its end; another body is 409") {
  gateway_world world;
  const auto id = operation_id::fresh();
  CHECK(world.post("/v1/operations", with_id(id)).status == 201);
  CHECK(world.post("/v1/operations", with_id(id)).status == 200);
  world.controller->end_operation(id, status::completed);
  const auto again = world.post("/v1/operations", with_id(id));
  CHECK(again.status == 200);
  CHECK(again.json()["status"] == "completed");
  auto other = nlohmann::json::parse(with_id(id));
  other["title"] = "another";
  const auto conflict = world.post("/v1/operations", other.dump());
  CHECK(conflict.status == 409);
  CHECK(conflict.code() == "id_conflict");
  CHECK(world.controller->creates().size() == 1);
}

TEST_CASE("a chosen id must be of these days") {
  gateway_world world;
  std::array<std::uint8_t, 10> random{};
  const operation_id old{make_uuid7(wall_time{milliseconds{1'700'000'000'000}}, random)};
  CHECK(world.post("/v1/operations", with_id(old)).code() == "bad_id");
}

TEST_CASE("a stale start is 409 with the cancel that refuses it") {
  gateway_world world;
  records::cancel_record cancel;
  cancel.id = cancel_id::fresh();
  cancel.seq = 4300;
  cancel.reason = "wrong branch";
  world.controller->refuse_next_create(
      {{error_code::stale_start, "scope team was cancelled. Nothing was started.", ""}, cancel, {}});
  const auto refused = world.post("/v1/operations", task);
  CHECK(refused.status == 409);
  CHECK(refused.json()["cancel"]["id"] == cancel.id.text());
  CHECK(refused.json()["cancel"]["reason"] == "wrong branch");
}

TEST_CASE("an ended parent is told from an unknown one") {
  gateway_world world;
  const auto parent = world.controller->start_operation("team");
  world.controller->end_operation(parent, status::completed);
  auto body = nlohmann::json::parse(task);
  body["parent"] = parent.text();
  const refusal unknown{{error_code::operation_not_found, "there is no operation", "/parent"}, {}, {}};
  world.controller->refuse_next_create(unknown);
  CHECK(world.post("/v1/operations", body.dump()).code() == "parent_ended");
  body["parent"] = operation_id::fresh().text();
  world.controller->refuse_next_create(unknown);
  CHECK(world.post("/v1/operations", body.dump()).code() == "operation_not_found");
}

TEST_CASE("a full disk refuses starts with 503 and lets cancels through") {
  gateway_world world;
  world.controller->set_storage_low(true);
  const auto refused = world.post("/v1/operations", task);
  CHECK(refused.status == 503);
  CHECK(refused.code() == "storage_unavailable");
  CHECK_FALSE(refused.header("retry-after").empty());
  CHECK(world.post("/v1/cancels", R"({"scope":"team"})").status == 200);
}

TEST_CASE("an unknown worker is refused before anything is created") {
  gateway_world world;
  auto body = nlohmann::json::parse(task);
  body["task"]["worker"] = "w7";
  CHECK(world.post("/v1/operations", body.dump()).code() == "no_such_worker");
  CHECK(world.controller->creates().empty());
  world.controller->add_worker("w7");
  CHECK(world.post("/v1/operations", body.dump()).status == 201);
}

TEST_CASE("an id of another kind is not found") {
  gateway_world world;
  const auto cancel = world.post("/v1/cancels", R"({"scope":"team"})").json()["id"].get<std::string>();
  CHECK(world.get("/v1/operations/" + cancel).code() == "operation_not_found");
  const auto op = world.controller->start_operation("team").text();
  CHECK(world.get("/v1/cancels/" + op).code() == "cancel_not_found");
}

TEST_CASE("a long poll is woken by the end, and answers at once for what has ended") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  auto client = world.connect();
  client.send_request("GET", "/v1/operations/" + id.text() + "?wait=ended&wait_ms=60000", gateway_world::admin());
  CHECK(world.get("/v1/operations/" + id.text() + "?wait=ended&wait_ms=0").json()["status"] == "running");
  const auto begin = std::chrono::steady_clock::now();
  world.controller->end_operation(id, status::failed);
  CHECK(client.read_reply().json()["status"] == "failed");
  CHECK(world.get("/v1/operations/" + id.text() + "?wait=ended&wait_ms=60000").json()["status"] == "failed");
  CHECK(std::chrono::steady_clock::now() - begin < testing::patient(std::chrono::seconds(50)));
}

TEST_CASE("pages of a list cover everything once, in both orders") {
  gateway_world world;
  std::vector<std::string> made;
  for (int i = 0; i < 25; ++i) made.push_back(world.controller->start_operation("team").text());
  for (const std::string order : {"asc", "desc"}) {
    std::vector<std::string> seen;
    std::string cursor;
    do {
      const auto page =
          world.get("/v1/operations?limit=10&order=" + order + (cursor.empty() ? "" : "&cursor=" + cursor)).json();
      CHECK(page["operations"].size() <= 10);
      for (const auto& op : page["operations"]) seen.push_back(op["id"]);
      cursor = page["next_cursor"].is_null() ? "" : page["next_cursor"].get<std::string>();
      if (seen.size() == 10) world.controller->start_operation("elsewhere"); // a later insert does not shift the pages
    } while (!cursor.empty() && seen.size() < 100);
    if (order == "desc") std::reverse(seen.begin(), seen.end());
    std::vector<std::string> ours;
    for (const auto& id : seen)
      if (std::find(made.begin(), made.end(), id) != made.end()) ours.push_back(id);
    CHECK(ours == made);
    CHECK(std::set<std::string>(seen.begin(), seen.end()).size() == seen.size());
  }
  CHECK(world.get("/v1/operations?order=asc&cursor=ZDU").code() == "invalid_field");
}

TEST_CASE("a list is filtered by what is true now, not by what the row says") {
  gateway_world world;
  const auto running = world.controller->start_operation("team"), stopping = world.controller->start_operation("team"),
             ended = world.controller->start_operation("team");
  world.controller->change_operation(stopping, [](live_view& view) { view.hot.now = status::cancelling; });
  world.controller->end_operation(ended, status::completed);
  const auto ids = [&](const std::string& query) {
    std::set<std::string> all;
    const auto page = world.get("/v1/operations?" + query).json();
    for (const auto& op : page["operations"]) all.insert(op["id"].get<std::string>());
    return all;
  };
  CHECK(ids("status=cancelling") == std::set{stopping.text()});
  CHECK(ids("status=running") == std::set{running.text()});
  CHECK(ids("status=live") == std::set{running.text(), stopping.text()});
  CHECK(ids("status=ended") == std::set{ended.text()});
  CHECK(ids("status=cancelling&status=completed") == std::set{stopping.text(), ended.text()});
  CHECK(ids("scope=team&scope=other").size() == 3);
  CHECK(ids("scope=te").empty());
}

TEST_CASE("below= is it and everything under it, and unknown there is 404") {
  gateway_world world;
  const auto root = world.controller->start_operation("team"), child = world.controller->start_operation("team", root);
  world.controller->start_operation("team");
  CHECK(world.get("/v1/operations?below=" + root.text()).json()["operations"].size() == 2);
  CHECK(world.get("/v1/operations?below=" + child.text()).json()["operations"].size() == 1);
  CHECK(world.get("/v1/operations?below=" + operation_id::fresh().text()).status == 404);
}

TEST_CASE("workers are added with a join line, drained, resumed and removed") {
  gateway_world world;
  const auto added = world.post("/v1/workers", R"({"name":"w3","labels":{"os":"linux"}})");
  REQUIRE(added.status == 201);
  CHECK(added.json()["join"].get<std::string>().starts_with("qwj1."));
  CHECK(added.json()["warning"].get<std::string>().find("loopback") != std::string::npos);
  CHECK(added.json()["status"] == "enrolled");
  CHECK(world.get("/v1/workers/w3").json()["labels"] == nlohmann::json({{"os", "linux"}}));
  CHECK(world.post("/v1/workers/w3/drain", R"({"reason":"kernel"})").json()["drain"]["reason"] == "kernel");
  CHECK(world.post("/v1/workers/w3/resume", "").json()["drain"].is_null());
  CHECK(world.ask("DELETE", "/v1/workers/w3", gateway_world::admin()).code() == "worker_busy");
  CHECK(world.ask("DELETE", "/v1/workers/w3?cancel=true", gateway_world::admin()).status == 200);
  CHECK(world.get("/v1/workers/none").code() == "worker_not_found");
  CHECK(world.post("/v1/workers/none/drain", "{}").code() == "worker_not_found");
  CHECK(world.get("/v1/workers?limit=1000").json()["workers"].size() == 1);
  CHECK(world.controller->audits().size() == 4);
}

TEST_CASE("scopes come in pages") {
  gateway_world world;
  const auto first = world.get("/v1/scopes?limit=2").json();
  CHECK(first["scopes"].size() == 2);
  const auto second = world.get("/v1/scopes?limit=2&cursor=" + first["next_cursor"].get<std::string>()).json();
  CHECK(second["scopes"][0]["scope"] == "team/c");
  CHECK(second["next_cursor"].is_null());
}
