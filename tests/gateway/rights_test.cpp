// Rights: the table of SURFACE 10 over the wire, scopes, and task tokens.
#include <catch2/catch.hpp>

#include "controller/json/instant.hpp"
#include "gateway/rights.hpp"
#include "tests/gateway/world.hpp"
#include "tests/patience.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;
using http::may;
using http::right;

TEST_CASE("the table of rights is that of SURFACE 10") {
  const auto row = [](right what) {
    std::string yes;
    for (const auto r : {role::observer, role::chat, role::operator_, role::admin, role::task})
      yes += may(r, what) ? 'y' : '-';
    return yes;
  };
  CHECK(row(right::read) == "yyyyy");
  CHECK(row(right::cancel) == "-yyyy");
  CHECK(row(right::create_external) == "-yyyy");
  CHECK(row(right::create_task) == "--yyy");
  CHECK(row(right::cancel_everything) == "--yy-");
  CHECK(row(right::administer) == "---y-");
}

TEST_CASE("roles are refused over the wire what the table does not give them") {
  gateway_world world;
  const std::string task = R"({"kind":"task","task":{"command":["true"]}})";
  const auto status = [&](const std::string& token, const char* method, const char* path,
                          const std::string& body = {}) {
    return world.ask(method, path, gateway_world::with(token), body).status;
  };
  const auto observer = world.token("observer"), chat = world.token("chat"), operator_token = world.token("operator");
  CHECK(status(observer, "GET", "/v1/operations") == 200);
  CHECK(status(observer, "GET", "/v1/workers") == 200);
  CHECK(status(observer, "POST", "/v1/cancels", R"({"scope":"team"})") == 403);
  CHECK(status(observer, "POST", "/v1/operations", task) == 403);
  CHECK(status(chat, "POST", "/v1/cancels", R"({"scope":"team"})") == 200);
  CHECK(status(chat, "POST", "/v1/cancels", R"({"everything":true})") == 403);
  CHECK(status(chat, "POST", "/v1/operations", task) == 403);
  CHECK(status(operator_token, "POST", "/v1/operations", task) == 201);
  CHECK(status(operator_token, "POST", "/v1/cancels", R"({"everything":true})") == 202);
  CHECK(status(operator_token, "GET", "/v1/tokens") == 403);
  CHECK(status(operator_token, "POST", "/v1/workers", R"({"name":"w9"})") == 403);
  CHECK(status(operator_token, "POST", "/v1/workers/w1/drain", "{}") == 403);
}

TEST_CASE("the state of disk and chat services is for tokens of the whole cluster") {
  gateway_world world([](gateway_options& o) {
    o.store_reserve_bytes = 4096;
    o.chat_services = [] {
      return std::vector<chat_service_view>{{"irc", "retrying in 2.0 s: connection refused", false}};
    };
  });
  const auto status = world.ask("GET", "/v1/status", gateway_world::with(world.token("observer"))).json();
  CHECK(status["store"]["low"] == false);
  CHECK(status["store"]["reserve_bytes"] == 4096);
  CHECK(status["store"]["free_bytes"].get<std::uint64_t>() > 0);
  CHECK(status["chat_services"] ==
        nlohmann::json::parse(R"([{"name":"irc","working":false,"state":"retrying in 2.0 s: connection refused"}])"));
  world.controller->set_storage_low(true);
  CHECK(world.get("/v1/status").json()["store"]["low"] == true);
  const auto scoped = world.ask("GET", "/v1/status", gateway_world::with(world.token("admin", "team"))).json();
  CHECK(scoped["store"].is_null());
  CHECK(scoped["chat_services"].is_null());
}

TEST_CASE("the status counts for a token with a scope what lives there, and nothing for a task's token") {
  gateway_world world;
  const auto mine = world.controller->start_operation("team");
  const auto whole = world.get("/v1/status").json();
  CHECK(whole["operations"]["running"] == 1);
  CHECK(whole["cancels_open"] == 0);
  const auto status_of = [&](const std::string& token) {
    return world.ask("GET", "/v1/status", gateway_world::with(token)).json();
  };
  const auto inside = status_of(world.token("observer", "team/a"));
  CHECK(inside["operations"] == nlohmann::json({{"live", 3}, {"cancelling", 1}}));
  CHECK(inside["workers"].is_object());
  CHECK(inside["seq"] == whole["seq"]);
  const auto idle = status_of(world.token("admin", "elsewhere"));
  CHECK(idle["operations"] == nlohmann::json({{"live", 0}, {"cancelling", 0}}));
  const auto task = status_of(mint_task_token(mine, task_key));
  CHECK(task["operations"].is_null());
  CHECK(task["workers"].is_null());
  for (const auto& one : {inside, idle, task}) {
    CHECK(one["cancels_open"].is_null());
    CHECK(one["oldest_open_cancel_ms"].is_null());
  }
}

TEST_CASE("the configuration is for admins without a scope") {
  gateway_world world(
      [](gateway_options& o) { o.configuration = [] { return "[http]\nlisten = \"127.0.0.1:1\"\n"; }; });
  const auto whole = world.get("/v1/config");
  CHECK(whole.status == 200);
  CHECK(whole.header("content-type") == "application/toml");
  CHECK(whole.body == "[http]\nlisten = \"127.0.0.1:1\"\n");
  CHECK(world.get("/v1/config?x=1").status / 100 == 4);
  for (const auto& secret : {world.token("operator"), world.token("admin", "team"), world.token("observer")})
    CHECK(world.ask("GET", "/v1/config", gateway_world::with(secret)).code() == "forbidden");
}

TEST_CASE("a wrong, cut or revoked token is 401") {
  gateway_world world;
  const auto made = world.post("/v1/tokens", R"({"name":"laptop","role":"observer"})").json();
  const std::string secret = made["token"];
  CHECK(world.ask("GET", "/v1/status", gateway_world::with(secret)).status == 200);
  CHECK(world.ask("GET", "/v1/status", gateway_world::with(secret.substr(0, 20))).status == 401);
  CHECK(world.ask("GET", "/v1/status", {{"Authorization", "Basic " + secret}}).status == 401);
  CHECK(world.ask("GET", "/v1/status?token=" + secret, {}).status == 401);
  const auto listed = world.get("/v1/tokens");
  CHECK(listed.json()["tokens"].size() == 1);
  CHECK(listed.body.find(secret) == std::string::npos);
  CHECK(world.controller->tokens_put().at(0).hash == token_hash(secret));
  CHECK(world.ask("DELETE", "/v1/tokens/" + made["id"].get<std::string>(), gateway_world::admin()).status == 204);
  CHECK(world.ask("GET", "/v1/status", gateway_world::with(secret)).status == 401);
  CHECK(world.ask("DELETE", "/v1/tokens/" + made["id"].get<std::string>(), gateway_world::admin()).code() ==
        "token_not_found");
}

TEST_CASE("two first requests for one token at once make it once, and both get its secret") {
  gateway_world world;
  int shared = 0;
  for (int round = 0; round < 50; ++round) {
    const auto id = token_id::fresh().text();
    const auto body = R"({"id":")" + id + R"(","name":"twice","role":"observer"})";
    auto one = world.connect(), two = world.connect(), other = world.connect();
    one.send_request("POST", "/v1/tokens", gateway_world::admin(), body);
    two.send_request("POST", "/v1/tokens", gateway_world::admin(), body);
    other.send_request("POST", "/v1/tokens", gateway_world::admin(),
                       R"({"id":")" + id + R"(","name":"another","role":"admin"})");
    const auto first = one.read_reply(), second = two.read_reply(), third = other.read_reply();
    // The first request gives the name.
    if (third.status == 201) {
      CHECK(first.code() == "id_conflict");
      CHECK(second.code() == "id_conflict");
      continue;
    }
    CHECK(third.code() == "id_conflict");
    REQUIRE(first.status == 201);
    REQUIRE(second.status == 201);
    CHECK(first.json()["id"] == id);
    const std::string secret = first.json()["token"], again = second.json()["token"];
    if (secret == again) {
      ++shared;
      CHECK(first.body == second.body);
    }
    const auto works = [&](const std::string& it) {
      return world.ask("GET", "/v1/status", gateway_world::with(it)).status == 200;
    };
    CHECK((secret == again ? works(secret) : works(secret) != works(again)));
  }
  CHECK(shared > 0); // the others came one behind the other
  const auto listed = world.get("/v1/tokens?limit=1000").json()["tokens"];
  CHECK(listed.size() == 50);
}

TEST_CASE("an expired token is 401") {
  gateway_world world;
  const auto past = world.post("/v1/tokens", R"({"name":"old","role":"admin","expires_at":"2020-01-01T00:00:00Z"})");
  CHECK(past.status == 422);
  const auto soon = std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now()) + milliseconds{8000};
  const auto made =
      world.post("/v1/tokens", R"({"name":"new","role":"admin","expires_at":")" + http::instant_text(soon) + "\"}");
  REQUIRE(made.status == 201);
  const auto used = [&] { return world.ask("GET", "/v1/status", gateway_world::with(made.json()["token"])).status; };
  const auto deadline = std::chrono::steady_clock::now() + testing::patient(std::chrono::seconds{60});
  while (used() != 401) REQUIRE(std::chrono::steady_clock::now() < deadline); // waited for the token to expire
}

TEST_CASE("a token of a scope sees no cancel of an owner or of everything that reaches beyond it") {
  gateway_world world;
  const auto token = gateway_world::with(world.token("observer", "mine"));
  const auto made = [&](const std::string& body) {
    return world.post("/v1/cancels", body).json()["id"].get<std::string>();
  };
  const auto status = [&](const std::string& id) { return world.ask("GET", "/v1/cancels/" + id, token).status; };
  CHECK(status(made(R"({"owner":"somebody"})")) == 404);
  CHECK(status(made(R"({"everything":true})")) == 404);
  CHECK(status(made(R"({"scope":"mine/a"})")) == 200);
  CHECK(status(made(R"({"scope":"theirs"})")) == 404);
  CHECK(world.ask("GET", "/v1/cancels", token).json()["cancels"].size() == 1);
}

TEST_CASE("a tombstone is seen by the token that left it and not by its namesake") {
  gateway_world world;
  const auto one = gateway_world::with(world.token("operator", "mine")),
             namesake = gateway_world::with(world.token("operator", "mine"));
  const auto left =
      world.ask("POST", "/v1/cancels", one, R"({"operation":")" + operation_id::fresh().text() + "\"}").json();
  REQUIRE(left["outcome"] == "unknown_id");
  const std::string path = "/v1/cancels/" + left["id"].get<std::string>();
  CHECK(world.ask("GET", path, one).status == 200);
  CHECK(world.ask("GET", path, namesake).status == 404);
}

TEST_CASE("a token with a scope names only what is below it, and nothing outside exists for it") {
  gateway_world world;
  const auto inside = world.controller->start_operation("team/a"),
             outside = world.controller->start_operation("team/ab");
  const auto token = gateway_world::with(world.token("operator", "team/a"));
  CHECK(world.ask("GET", "/v1/operations/" + inside.text(), token).status == 200);
  const auto hidden = world.ask("GET", "/v1/operations/" + outside.text(), token);
  CHECK(hidden.status == 404);
  CHECK(hidden.code() == "operation_not_found");
  CHECK(world.ask("POST", "/v1/operations/" + outside.text() + "/cancel", token).status == 404);
  CHECK(world.ask("POST", "/v1/cancels", token, R"({"operation":")" + outside.text() + "\"}").status == 404);
  CHECK(world.ask("POST", "/v1/cancels", token, R"({"scope":"team/ab"})").code() == "scope_forbidden");
  CHECK(world.ask("POST", "/v1/cancels", token, R"({"scope":"team"})").code() == "scope_forbidden");
  CHECK(world.ask("GET", "/v1/operations?scope=team", token).code() == "scope_forbidden");
  CHECK(world.ask("POST", "/v1/operations", token, R"({"kind":"task","task":{"command":["true"]}})").code() ==
        "scope_forbidden");
  const auto listed = world.ask("GET", "/v1/operations", token).json()["operations"];
  REQUIRE(listed.size() == 1);
  CHECK(listed[0]["id"] == inside.text());
  CHECK(world.controller->cancels().empty());
  // "everything" means every operation that the token can see.
  CHECK(world.ask("POST", "/v1/cancels", token, R"({"everything":true})").status == 202);
  const auto target = std::get<records::target_everything>(world.controller->cancels().at(0).target);
  CHECK(target.below == scope_path::parse("team/a").value());
}

TEST_CASE("an admin with a scope handles tokens below it and no workers") {
  gateway_world world;
  const auto admin = gateway_world::with(world.token("admin", "team"));
  CHECK(world.ask("POST", "/v1/tokens", admin, R"({"name":"x","role":"chat","scope":"team/a"})").status == 201);
  CHECK(world.ask("POST", "/v1/tokens", admin, R"({"name":"x","role":"chat","scope":"other"})").code() ==
        "scope_forbidden");
  CHECK(world.ask("POST", "/v1/tokens", admin, R"({"name":"x","role":"chat"})").json()["scope"] == "team");
  CHECK(world.ask("GET", "/v1/tokens", admin).json()["tokens"].size() == 3);
  CHECK(world.ask("POST", "/v1/workers", admin, R"({"name":"w9"})").code() == "forbidden");
}

TEST_CASE("a task's token sees itself and below, cancels below itself, and creates only its children") {
  gateway_world world;
  const auto mine = world.controller->start_operation("team"), child = world.controller->start_operation("team", mine),
             grandchild = world.controller->start_operation("team", child),
             other = world.controller->start_operation("team");
  const auto token = gateway_world::with(mint_task_token(mine, task_key));
  CHECK(world.ask("GET", "/v1/operations/" + mine.text(), token).status == 200);
  CHECK(world.ask("GET", "/v1/operations/" + grandchild.text(), token).status == 200);
  CHECK(world.ask("GET", "/v1/operations/" + other.text(), token).status == 404);
  CHECK(world.ask("GET", "/v1/operations", token).json()["operations"].size() == 3);
  CHECK(world.ask("POST", "/v1/operations/" + grandchild.text() + "/cancel", token).status == 202);
  CHECK(world.ask("POST", "/v1/operations/" + mine.text() + "/cancel", token).status == 403);
  CHECK(world.ask("POST", "/v1/operations/" + other.text() + "/cancel", token).status == 404);
  CHECK(world.ask("POST", "/v1/cancels", token, R"({"scope":"team"})").status == 403);
  CHECK(world.ask("POST", "/v1/cancels", token, R"({"everything":true})").status == 403);
  CHECK(world.ask("GET", "/v1/tokens", token).status == 403);
  const std::string task = R"("kind":"task","task":{"command":["true"]})";
  REQUIRE(world.ask("POST", "/v1/operations", token, "{" + task + "}").status == 201);
  CHECK(world.controller->creates().back().parent == mine);
  CHECK(world.controller->creates().back().by.owner.id == "alice");
  CHECK(world.ask("POST", "/v1/operations", token, "{" + task + R"(,"parent":")" + other.text() + "\"}").status == 403);
  CHECK(world.ask("POST", "/v1/operations", token, "{" + task + R"(,"on_parent_end":"detach"})").status == 403);
  CHECK(world.ask("POST", "/v1/operations", token, "{" + task + R"(,"owner":{"id":"eve"}})").status == 403);
}

namespace {

create_order running_in(task_spec task, std::optional<operation_id> parent = {}, kind what = kind::task) {
  create_order order;
  order.kind = what;
  order.scope = *scope_path::parse("team/a");
  order.parent = parent;
  order.by.owner = {"alice", "Alice"};
  order.task = std::move(task);
  return order;
}

} // namespace

TEST_CASE("what a command in a workspace starts runs in the same workspace, on its worker") {
  gateway_world world;
  world.controller->add_worker("w1");
  task_spec own;
  own.cwd = "workspace:w-team%a~1?exists&quota=4096&in=sub";
  own.worker = "w1";
  const auto token = gateway_world::with(mint_task_token(world.controller->start_operation(running_in(own)), task_key));
  const auto started = [&](const std::string& more) {
    return world.ask("POST", "/v1/operations", token, R"({"kind":"task","task":{"command":["true"])" + more + "}}");
  };
  const auto made = [&] { return world.controller->creates().back().task; };
  REQUIRE(started("").status == 201);
  CHECK(made().cwd == own.cwd);
  CHECK(made().worker == "w1");
  REQUIRE(started(R"(,"cwd":"/srv","worker":"w1")").status == 201);
  CHECK(made().cwd == "workspace:w-team%a~1?exists&quota=4096&in=/srv");
  REQUIRE(started(R"(,"default_cwd":"/workspace/b","default_cwd_host":"h")").status == 201);
  CHECK(made().cwd == "workspace:w-team%a~1?exists&quota=4096&in=/workspace/b");
  CHECK(!made().default_cwd);
  CHECK(started(R"(,"worker":"w2")").code() == "forbidden");
}

TEST_CASE("what a command of an agent starts runs on the workers of the agent, and a person's where it says") {
  gateway_world world;
  task_spec own;
  own.on = {{"os", "linux"}};
  const auto call = world.controller->start_operation(running_in({}, {}, kind::tool_call));
  const auto labelled = [&](std::optional<operation_id> parent, const std::string& on) {
    const auto task = world.controller->start_operation(running_in(own, parent));
    return world.ask("POST", "/v1/operations", gateway_world::with(mint_task_token(task, task_key)),
                     R"({"kind":"task","task":{"command":["true"],"on":)" + on + "}}");
  };
  using labels = std::map<std::string, std::string>;
  REQUIRE(labelled(call, R"({"gpu":"1"})").status == 201);
  CHECK(world.controller->creates().back().task.on == labels{{"gpu", "1"}, {"os", "linux"}});
  CHECK(labelled(call, R"({"os":"mac"})").code() == "forbidden");
  const auto between = world.controller->start_operation(running_in({}, call));
  CHECK(labelled(between, R"({"os":"mac"})").code() == "forbidden");
  REQUIRE(labelled({}, R"({"os":"mac"})").status == 201);
  CHECK(world.controller->creates().back().task.on == labels{{"os", "mac"}});
}

TEST_CASE("a task's token dies with its operation") {
  gateway_world world;
  const auto mine = world.controller->start_operation("team");
  const auto token = gateway_world::with(mint_task_token(mine, task_key));
  CHECK(world.ask("GET", "/v1/operations", token).status == 200);
  world.controller->end_operation(mine, status::completed);
  CHECK(world.ask("GET", "/v1/operations", token).status == 401);
  CHECK(world.ask("GET", "/v1/operations", gateway_world::with(mint_task_token(operation_id::fresh(), task_key)))
            .status == 401);
}
