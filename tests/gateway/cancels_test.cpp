// Cancels over the wire: targets, waiting, dry runs, repeats, finished work.
#include <catch2/catch.hpp>

#include <set>

#include "tests/gateway/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;
using json = nlohmann::json;

TEST_CASE("a cancel of a scope answers 202 with its report, titles and channel") {
  gateway_world world;
  const auto id = world.controller->start_operation("team/build", {}, "crawler");
  auto headers = gateway_world::admin();
  headers.emplace_back("Quell-Channel", "cli");
  const auto answer = world.ask("POST", "/v1/cancels", headers,
                                R"({"scope":"team","reason":"wrong branch","grace_ms":0,"by":{"id":"mia"}})");
  CHECK(answer.status == 202);
  const auto j = answer.json();
  CHECK(j["outcome"] == "stopping");
  CHECK(j["via"] == json({{"channel", "cli"}, {"token", "admin"}, {"token_id", "bootstrap"}}));
  CHECK(j["by"] == json({{"id", "mia"}, {"name", "mia"}}));
  CHECK(j["report"]["unproven"][0]["title"] == "crawler");
  CHECK(j["report"]["unproven"][0]["operation"] == id.text());
  const auto order = world.controller->cancels().at(0);
  CHECK(order.grace == milliseconds{0});
  CHECK(order.reason == "wrong branch");
  CHECK(order.received.ns > 0);
}

TEST_CASE("a cancel of many operations does not wait for their titles at its fence, and shows them later") {
  gateway_world world;
  const std::size_t count = GENERATE(std::size_t{8}, std::size_t{9});
  for (std::size_t i = 0; i < count; ++i) world.controller->start_operation("team", {}, "crawler");
  const auto answer = world.post("/v1/cancels", R"({"scope":"team"})");
  REQUIRE(answer.status == 202);
  const auto titles_of = [](const json& cancel) {
    std::set<std::string> titles;
    for (const auto& u : cancel["report"]["unproven"]) titles.insert(u["title"].get<std::string>());
    return titles;
  };
  CHECK(titles_of(answer.json()) == std::set<std::string>{count > 8 ? "" : "crawler"});
  CHECK(titles_of(world.get("/v1/cancels/" + answer.json()["id"].get<std::string>()).json()) ==
        std::set<std::string>{"crawler"});
}

TEST_CASE("a cancel of an idle scope is 200 and recorded") {
  gateway_world world;
  const auto answer = world.post("/v1/cancels", R"({"scope":"idle"})");
  CHECK(answer.status == 200);
  CHECK(answer.json()["outcome"] == "nothing_live");
  CHECK(world.get("/v1/cancels/" + answer.json()["id"].get<std::string>()).status == 200);
}

TEST_CASE("an unknown operation is a tombstone by body and 404 by path") {
  gateway_world world;
  const auto id = operation_id::fresh().text();
  const auto by_body = world.post("/v1/cancels", R"({"operation":")" + id + "\"}");
  CHECK(by_body.status == 202);
  CHECK(by_body.json()["outcome"] == "unknown_id");
  const auto by_path = world.post("/v1/operations/" + id + "/cancel", "");
  CHECK(by_path.status == 404);
  CHECK(by_path.code() == "operation_not_found");
  CHECK(world.controller->cancels().size() == 1);
}

TEST_CASE("a cancel of finished work answers already_finished and leaves nothing behind") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  world.controller->end_operation(id, status::completed);
  const auto by_path = world.post("/v1/operations/" + id.text() + "/cancel", "");
  CHECK(by_path.status == 200);
  CHECK(by_path.json()["outcome"] == "already_finished");
  CHECK(by_path.json()["status"] == "settled");
  CHECK(by_path.json()["report"]["operations"] == 0);
  CHECK(world.post("/v1/cancels", R"({"operation":")" + id.text() + "\"}").json()["outcome"] == "already_finished");
  CHECK(world.controller->cancels().empty());
}

TEST_CASE("waiting for settled answers when it is, with the final report") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  auto client = world.connect();
  client.send_request("POST", "/v1/cancels", gateway_world::admin(),
                      R"({"scope":"team","wait":"settled","wait_ms":15000})");
  // The cancel exists once it is listed.
  std::string cancel;
  for (int i = 0; i < 2000 && cancel.empty(); ++i) {
    const auto open = world.get("/v1/cancels?status=open").json()["cancels"];
    if (!open.empty()) cancel = open[0]["id"];
  }
  REQUIRE_FALSE(cancel.empty());
  auto polling = world.connect();
  polling.send_request("GET", "/v1/cancels/" + cancel + "?wait=signalled&wait_ms=15000", gateway_world::admin());
  world.controller->move_cancel(*cancel_id::parse(cancel), cancel_status::signalled);
  CHECK(polling.read_reply().json()["status"] == "signalled");
  world.controller->end_operation(id, status::cancelled, cancel_id::parse(cancel));
  world.controller->move_cancel(*cancel_id::parse(cancel), cancel_status::settled);
  const auto answer = client.read_reply();
  CHECK(answer.status == 200);
  CHECK(answer.json()["status"] == "settled");
  CHECK(answer.json()["report"]["proven"] == true);
  CHECK(answer.json()["report"]["settled_ms"] == 12.346);
  const auto op = world.get("/v1/operations/" + id.text()).json();
  CHECK(op["stop"]["cancel"] == cancel);
  CHECK(op["stop"]["by"]["id"] == "root");
  CHECK(world.get("/v1/cancels?status=open").json()["cancels"].empty());
  CHECK(world.get("/v1/cancels?status=settled").json()["cancels"].size() == 1);
}

TEST_CASE("a wait that runs out answers what is true then") {
  gateway_world world;
  world.controller->start_operation("team");
  const auto answer = world.post("/v1/cancels", R"({"scope":"team","wait":"settled","wait_ms":1})");
  CHECK(answer.status == 202);
  CHECK(answer.json()["status"] == "fenced");
}

TEST_CASE("a dry run lists what would stop and records nothing") {
  gateway_world world;
  const auto id = world.controller->start_operation("team", {}, "crawler");
  const auto j = world.post("/v1/cancels", R"({"scope":"team","dry_run":true})").json();
  CHECK(j["dry_run"] == true);
  CHECK(j["id"].is_null());
  REQUIRE(j["would_stop"]["operations"].size() == 1);
  CHECK(j["would_stop"]["operations"][0]["id"] == id.text());
  CHECK(j["would_stop"]["operations"][0]["status"] == "running");
  CHECK(world.get("/v1/cancels").json()["cancels"].empty());
}

TEST_CASE("the same cancel id with the same body is the same cancel, with another body 409") {
  gateway_world world;
  const auto id = cancel_id::fresh().text();
  const auto body = [&](const std::string& reason) {
    return json{{"id", id}, {"scope", "team"}, {"reason", reason}}.dump();
  };
  world.controller->start_operation("team");
  CHECK(world.post("/v1/cancels", body("a")).status == 202);
  const auto again = world.post("/v1/cancels", body("a"));
  CHECK(again.status == 202);
  CHECK(again.json()["id"] == id);
  CHECK(world.post("/v1/cancels", body("b")).code() == "id_conflict");
  CHECK(world.controller->cancels().size() == 1);
}

TEST_CASE("only an admin declares something dead, with a reason") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  const std::string path = "/v1/operations/" + id.text() + "/resolve",
                    body = R"({"declare":"dead","reason":"host burnt"})";
  CHECK(world.ask("POST", path, gateway_world::with(world.token("operator")), body).status == 403);
  CHECK(world.post(path, R"({"declare":"dead"})").status == 422);
  CHECK(world.post(path, body).json()["status"] == "cancelled");
  CHECK(world.post(path, body).code() == "already_terminal");
  CHECK(world.post("/v1/workers/w1/resolve", body).json()["operations"] == 2);
}
