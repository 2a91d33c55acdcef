// Sign-ins of browsers: the table alone, and over the wire with its cookies, origins and links.
#include <catch2/catch.hpp>

#include "controller/json/instant.hpp"
#include "gateway/sign_ins.hpp"
#include "storage/queries.hpp"
#include "tests/gateway/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;
using http::sign_in_table;

namespace {

const wall_time noon{milliseconds{1'800'000'000'000}};

struct browser {
  gateway_world& world;
  std::string cookie = {};

  header_list page() const {
    header_list all{{"Origin", "http://quell"}, {"Content-Type", "application/json"}}; // the client's Host

    if (!cookie.empty()) all.emplace_back("Cookie", "theme=dark; " + cookie);
    return all;
  }
  http_reply ask(const std::string& method, const std::string& target, const std::string& body = {}) {
    auto reply = world.ask(method, target, page(), body);
    const auto set = reply.header("set-cookie");
    if (!set.empty()) cookie = set.substr(0, set.find(';'));
    return reply;
  }
  http_reply sign_in(const std::string& token) { return ask("POST", "/v1/sessions", R"({"token":")" + token + "\"}"); }
};

} // namespace

TEST_CASE("a sign-in is found by its secret until it is over, ended, or its token is") {
  sign_in_table sign_ins;
  const auto in = sign_ins.open("id", "secret", "token", "hash", noon);
  REQUIRE(sign_ins.find("secret", noon));
  CHECK(*sign_ins.find("secret", noon) == in);
  CHECK_FALSE(sign_ins.find("another", noon));
  CHECK_FALSE(sign_ins.find(in.secret_hash, noon));
  CHECK_FALSE(sign_ins.find("secret", noon + sign_in_table::idle_life));
  CHECK(sign_ins.end("id"));
  CHECK_FALSE(sign_ins.end("id"));
  CHECK_FALSE(sign_ins.find("secret", noon));
  sign_ins.open("id2", "secret2", "token", "hash", noon);
  sign_ins.end_token("token");
  CHECK_FALSE(sign_ins.is_open("id2", noon));
}

TEST_CASE("a renewal moves the end, but never beyond the whole life") {
  sign_in_table sign_ins;
  sign_ins.open("id", "secret", "token", "hash", noon);
  CHECK_FALSE(sign_ins.renew("id", noon + std::chrono::minutes(1)));
  for (wall_time at = noon; at < noon + sign_in_table::whole_life; at += std::chrono::hours(12))
    sign_ins.renew("id", at);
  CHECK(sign_ins.is_open("id", noon + sign_in_table::whole_life - milliseconds(1)));
  CHECK_FALSE(sign_ins.is_open("id", noon + sign_in_table::whole_life));
}

TEST_CASE("the oldest of too many sign-ins of one token makes room, those of others stay") {
  sign_in_table sign_ins;
  sign_ins.open("other", "s", "somebody", "h", noon);
  for (std::size_t i = 0; i <= sign_in_table::most_per_token; ++i)
    sign_ins.open("id" + std::to_string(i), "secret" + std::to_string(i), "token", "h", noon + milliseconds(i));
  CHECK(sign_ins.size() == sign_in_table::most_per_token + 1);
  CHECK_FALSE(sign_ins.find("secret0", noon + milliseconds(100)));
  CHECK(sign_ins.find("secret1", noon + milliseconds(100)));
  CHECK(sign_ins.is_open("other", noon + milliseconds(100)));
}

TEST_CASE("a link is good once and for an hour") {
  sign_in_table sign_ins;
  sign_ins.add_link("a", "token", "hash", noon);
  sign_ins.add_link("b", "token", "hash", noon);
  CHECK(sign_ins.take_link("a", noon)->token == "token");
  CHECK_FALSE(sign_ins.take_link("a", noon));
  CHECK_FALSE(sign_ins.take_link("b", noon + sign_in_table::link_life));
}

TEST_CASE("the book comes back from its text, without what is over or broken") {
  sign_in_table sign_ins, again;
  sign_ins.open("id", "secret", "token", "hash", noon);
  again.restore("nonsense\n" + sign_ins.text() + "x y z t 1 99999999999999999\n", noon);
  CHECK(again.size() == 1);
  CHECK(again.find("secret", noon));
  again = {};
  again.restore(sign_ins.text(), noon + sign_in_table::idle_life);
  CHECK(again.size() == 0);
  CHECK(sign_ins.text().find("secret") == std::string::npos);
}

TEST_CASE("cookies, their names and origins are read exactly") {
  CHECK(http::cookie_in("a=1; quell_session_7710=x; b=2", "quell_session_7710") == "x");
  CHECK(http::cookie_in("quell_session_77101=x", "quell_session_7710").empty());
  CHECK(http::cookie_in("xquell_session=1", "quell_session").empty());
  CHECK(http::cookie_name("127.0.0.1:7710") == "quell_session_7710");
  CHECK(http::cookie_name("[::1]") == "quell_session");
  CHECK(http::cookie_name("[::1]:80") == "quell_session_80");
  CHECK(http::cookie_name("host:80;x") == "quell_session");
  CHECK(http::is_same_origin("http://127.0.0.1:7710", "127.0.0.1:7710"));
  CHECK(http::is_same_origin("https://Quell.example", "quell.example"));
  CHECK_FALSE(http::is_same_origin("http://127.0.0.1:7711", "127.0.0.1:7710"));
  CHECK_FALSE(http::is_same_origin("null", "null"));
  CHECK_FALSE(http::is_same_origin("", ""));
  CHECK_FALSE(http::is_same_origin("http://", ""));
}

TEST_CASE("a token becomes a cookie that reads, changes and signs out") {
  gateway_world world;
  browser tab{world};
  const auto made = tab.sign_in(admin_secret);
  REQUIRE(made.status == 201);
  const auto set = made.header("set-cookie");
  for (const char* part : {"HttpOnly", "SameSite=Strict", "Path=/"}) CHECK(set.find(part) != std::string::npos);
  CHECK(set.find("Secure") == std::string::npos);
  CHECK(made.header("cache-control") == "no-store");
  CHECK(made.json()["role"] == "admin");
  CHECK(tab.ask("GET", "/v1/status").status == 200);
  CHECK(tab.ask("GET", "/v1/sessions/current").json()["id"] == made.json()["id"]);
  CHECK(tab.ask("POST", "/v1/cancels", R"({"scope":"idle"})").status == 200);
  const auto copy = tab.cookie;
  CHECK(tab.ask("DELETE", "/v1/sessions/current").status == 204);
  tab.cookie = copy;
  CHECK(tab.ask("GET", "/v1/status").status == 401);
}

TEST_CASE("a page of another origin gets nothing by the cookie") {
  gateway_world world;
  browser tab{world};
  REQUIRE(tab.sign_in(admin_secret).status == 201);
  const auto ask = [&](const std::string& method, const std::string& target, const header_list& more) {
    header_list all{{"Cookie", tab.cookie}, {"Content-Type", "application/json"}};
    all.insert(all.end(), more.begin(), more.end());
    return world.ask(method, target, all, method == "POST" ? R"({"scope":"idle"})" : "").status;
  };
  CHECK(ask("GET", "/v1/status", {}) == 200); // a page of the console sends no Origin when it reads
  CHECK(ask("POST", "/v1/cancels", {}) == 403);
  for (const char* origin : {"null", "http://evil.example", "http://127.0.0.1:1", "http://127.0.0.1"}) {
    INFO(origin);
    CHECK(ask("POST", "/v1/cancels", {{"Origin", origin}}) == 403);
    CHECK(ask("DELETE", "/v1/sessions/current", {{"Origin", origin}}) == 403);
    CHECK(ask("GET", "/v1/status", {{"Origin", origin}}) == 403);
  }
  CHECK(world.controller->cancels().empty());
  CHECK(
      world.ask("POST", "/v1/sessions", {{"Content-Type", "application/json"}}, R"({"token":")" + admin_secret + "\"}")
          .status == 403);
}

TEST_CASE("a session has its token's rights and ends with it, its streams too") {
  gateway_world world;
  const auto token = world.post("/v1/tokens", R"({"name":"eve","role":"observer","scope":"team"})").json();
  browser tab{world};
  REQUIRE(tab.sign_in(token["token"]).status == 201);
  CHECK(tab.ask("POST", "/v1/cancels", R"({"scope":"team"})").status == 403);
  CHECK(tab.ask("GET", "/v1/tree?scope=other").code() == "scope_forbidden");
  http_client stream(world.front->port());
  stream.send_request("GET", "/v1/events", {{"Cookie", tab.cookie}, {"Accept", "text/event-stream"}});
  REQUIRE(stream.read_head().status == 200);
  CHECK(world.ask("DELETE", "/v1/tokens/" + token["id"].get<std::string>(), gateway_world::admin()).status == 204);
  CHECK(tab.ask("GET", "/v1/status").status == 401);
  const auto read_on = [&] {
    while (stream.read_chunk()) {
    }
  };
  CHECK_THROWS(read_on()); // broken off, so that no client takes it for a complete answer
}

TEST_CASE("a session ends when its token expires") {
  gateway_world world;
  browser tab{world};
  wall_time end;
  // On a slow machine it is over before anybody has signed in: then with one that lives longer.
  for (auto life = milliseconds(200); tab.cookie.empty(); life *= 2) {
    REQUIRE(life < milliseconds(60'000));
    end = std::chrono::floor<milliseconds>(std::chrono::system_clock::now()) + life;
    const auto body = R"({"name":"eve","role":"observer","expires_at":")" + http::instant_text(end) + "\"}";
    const auto token = world.post("/v1/tokens", body);
    if (token.status == 201) tab.sign_in(token.json()["token"]);
  }
  while (tab.ask("GET", "/v1/status").status == 200)
    REQUIRE(std::chrono::system_clock::now() < end + std::chrono::seconds(30));
  CHECK(std::chrono::system_clock::now() >= end);
  CHECK(tab.ask("GET", "/v1/status").status == 401);
}

TEST_CASE("a link signs in once") {
  gateway_world world;
  const auto link = world.post("/v1/sessions/links", "{}");
  REQUIRE(link.status == 201);
  const std::string path = link.json()["path"];
  REQUIRE(path.starts_with("/#link="));
  const auto body = R"({"link":")" + path.substr(7) + "\"}";
  browser first{world}, second{world};
  CHECK(first.ask("POST", "/v1/sessions", body).status == 201);
  CHECK(first.ask("GET", "/v1/status").status == 200);
  CHECK(second.ask("POST", "/v1/sessions", body).status == 401);
  CHECK(world.ask("POST", "/v1/sessions/links", {}, "{}").status == 401);
}

TEST_CASE("bad sign-ins are refused with what is wrong") {
  gateway_world world;
  browser tab{world};
  CHECK(tab.sign_in("qk_wrong").status == 401);
  CHECK(tab.ask("POST", "/v1/sessions", "{}").status == 422);
  CHECK(tab.ask("POST", "/v1/sessions", R"({"token":"a","link":"b"})").status == 422);
  const auto id = world.controller->start_operation("team");
  CHECK(tab.sign_in(mint_task_token(id, task_key)).status == 403);
  CHECK(tab.cookie.empty());
}

TEST_CASE("a session outlives a restart, and one that was signed out stays so") {
  gateway_world world;
  browser kept{world}, ended{world};
  REQUIRE(kept.sign_in(admin_secret).status == 201);
  REQUIRE(ended.sign_in(admin_secret).status == 201);
  const auto copy = ended.cookie;
  REQUIRE(ended.ask("DELETE", "/v1/sessions/current").status == 204);
  ended.cookie = copy;
  const auto port = world.front->port();
  gateway_options options;
  options.listen = "127.0.0.1:" + std::to_string(port);
  options.state_directory = world.directory.path();
  options.open_store = [directory = options.state_directory] { return storage::open_limited_reader(directory); };
  options.admin_token = admin_secret;
  options.task_token_key = task_key;
  world.front.reset();
  auto again = gateway::start(std::move(options), *world.controller, world.output);
  REQUIRE(again);
  world.front = std::move(*again);
  CHECK(kept.ask("GET", "/v1/status").status == 200);
  CHECK(ended.ask("GET", "/v1/status").status == 401);
}
