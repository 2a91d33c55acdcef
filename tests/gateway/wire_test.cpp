// HTTP itself: keep-alive, pipelining, limits, routes, broken requests, the Unix listener, shutdown.
#include <catch2/catch.hpp>

#include <sys/stat.h>

#include "storage/queries.hpp"
#include "tests/gateway/world.hpp"
#include "tests/patience.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;

TEST_CASE("one connection serves many requests, also when they come in one piece") {
  gateway_world world;
  auto client = world.connect();
  for (int i = 0; i < 3; ++i) CHECK(client.ask("GET", "/healthz").status == 200);
  client.send("GET /healthz HTTP/1.1\r\nHost: q\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: q\r\n\r\nGET /healthz "
              "HTTP/1.1\r\nHost: q\r\n\r\n");
  CHECK(client.read_reply().status == 200);
  CHECK(client.read_reply().status == 404);
  CHECK(client.read_reply().status == 200);
}

TEST_CASE("a connection is closed when the client asks for it, and HTTP/1.0 is answered") {
  gateway_world world;
  auto client = world.connect();
  CHECK(client.ask("GET", "/healthz", {{"Connection", "close"}}).status == 200);
  CHECK(client.at_end());
  auto old = world.connect();
  old.send("GET /healthz HTTP/1.0\r\n\r\n");
  CHECK(old.read_reply().status == 200);
  CHECK(old.at_end());
}

TEST_CASE("HEAD has the head of GET and no body") {
  gateway_world world;
  auto client = world.connect();
  client.send_request("HEAD", "/healthz");
  const auto head = client.read_head();
  CHECK(head.status == 200);
  CHECK(std::stoi(head.header("content-length")) > 0);
  CHECK(client.ask("GET", "/healthz").status == 200);
}

TEST_CASE("an unknown path is 404, a wrong method is 405 and says which are possible") {
  gateway_world world;
  const auto unknown = world.get("/v2/operations");
  CHECK(unknown.status == 404);
  CHECK(unknown.code() == "not_found");
  CHECK(unknown.header("content-type") == "application/problem+json");
  const auto wrong = world.ask("PUT", "/v1/operations", gateway_world::admin());
  CHECK(wrong.status == 405);
  CHECK(wrong.code() == "method_not_allowed");
  CHECK(wrong.header("allow") == "POST, GET");
}

TEST_CASE("a body of 10 MB is refused with 413, and the client sees the answer") {
  gateway_world world;
  const auto big = world.post("/v1/operations", "{\"title\":\"" + std::string(10'000'000, 'x') + "\"}");
  CHECK(big.status == 413);
  CHECK(big.code() == "too_large");
  CHECK(world.controller->creates().empty());
}

TEST_CASE("a header of 100 KB is refused with 413") {
  gateway_world world;
  auto client = world.connect();
  const auto big = client.ask("GET", "/healthz", {{"X-Long", std::string(100'000, 'x')}});
  CHECK(big.status == 413);
}

TEST_CASE("what is not HTTP is refused with 400 and closed") {
  gateway_world world;
  auto client = world.connect();
  client.send("SSH-2.0-OpenSSH_9.2\r\n\r\n");
  const auto answer = client.read_reply();
  CHECK(answer.status == 400);
  CHECK(answer.code() == "bad_request");
}

TEST_CASE("a body must be JSON by its type") {
  gateway_world world;
  auto headers = gateway_world::admin();
  headers.emplace_back("Content-Type", "text/plain");
  const auto answer = world.ask("POST", "/v1/cancels", headers, R"({"scope":"team"})");
  CHECK(answer.status == 415);
  CHECK(answer.code() == "unsupported_media_type");
  headers.back().second = "application/json; charset=utf-8";
  CHECK(world.ask("POST", "/v1/cancels", headers, R"({"scope":"team"})").status == 200);
}

TEST_CASE("bad JSON, bad UTF-8, a broken query and unknown parameters are told apart") {
  gateway_world world;
  CHECK(world.post("/v1/operations", "{").code() == "bad_json");
  CHECK(world.post("/v1/operations", "{\"kind\":\"\xc3\x28\"}").code() == "bad_json");
  CHECK(world.post("/v1/operations", R"({"kind":"task","kinds":1})").code() == "unknown_field");
  CHECK(world.post("/v1/cancels?dry_run=true", R"({"scope":"team"})").code() == "unknown_field");
  const auto broken = world.get("/v1/operations?scope=%zz");
  CHECK(broken.status == 400);
  CHECK(broken.code() == "bad_request");
  const auto unknown = world.get("/v1/operations?statsu=live");
  CHECK(unknown.status == 422);
  CHECK(unknown.json()["errors"][0]["pointer"] == "?statsu");
  CHECK(world.get("/v1/operations?status=alive").code() == "invalid_field");
  CHECK(world.get("/v1/operations?scope=a//b").code() == "bad_scope");
  CHECK(world.get("/v1/operations?parent=42").code() == "bad_id");
  CHECK(world.get("/v1/operations/42").code() == "bad_id");
  CHECK(world.controller->creates().empty());
}

TEST_CASE("a client that expects 100-continue gets it before its body is read") {
  gateway_world world;
  auto client = world.connect();
  const std::string body = R"({"scope":"team"})";
  client.send("POST /v1/cancels HTTP/1.1\r\nHost: q\r\nAuthorization: Bearer " + admin_secret +
              "\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n");
  client.send(body);
  CHECK(client.read_reply().status == 200);
}

TEST_CASE("open paths need no token, all others do") {
  gateway_world world;
  for (const char* path : {"/healthz", "/readyz", "/v1/openapi.json"}) {
    INFO(path);
    CHECK(world.ask("GET", path, {}).status == 200);
  }
  for (const char* path : {"/v1/status", "/v1/operations", "/v1/cancels", "/v1/events", "/v1/workers", "/v1/tokens",
                           "/v1/scopes", "/v1/config", "/metrics"}) {
    INFO(path);
    const auto answer = world.ask("GET", path, {});
    CHECK(answer.status == 401);
    CHECK(answer.code() == "unauthenticated");
    CHECK(answer.header("www-authenticate").starts_with("Bearer"));
  }
}

TEST_CASE("the OpenAPI document is JSON and names every path that is served") {
  gateway_world world;
  const auto document = world.ask("GET", "/v1/openapi.json", {}).json();
  CHECK(document["openapi"] == "3.1.0");
  for (const char* path : {"/v1/operations",
                           "/v1/operations/{id}",
                           "/v1/operations/{id}/cancel",
                           "/v1/operations/{id}/resolve",
                           "/v1/operations/{id}/output",
                           "/v1/operations/{id}/input",
                           "/v1/operations/{id}/resize",
                           "/v1/operations/{id}/events",
                           "/v1/cancels",
                           "/v1/cancels/{id}",
                           "/v1/events",
                           "/v1/scopes",
                           "/v1/status",
                           "/v1/config",
                           "/v1/workers",
                           "/v1/workers/{name}",
                           "/v1/workers/{name}/drain",
                           "/v1/workers/{name}/resume",
                           "/v1/workers/{name}/resolve",
                           "/v1/tokens",
                           "/v1/tokens/{id}",
                           "/a2a/{agent}",
                           "/a2a/{agent}/tasks/{task}",
                           "/api/turns/active",
                           "/api/turns/{id}/abort",
                           "/healthz",
                           "/readyz",
                           "/metrics",
                           "/v1/openapi.json"}) {
    INFO(path);
    CHECK(document["paths"].contains(path));
  }
}

TEST_CASE("the Unix listener serves the same API, private to its user") {
  std::string path;
  gateway_world world(
      [&](gateway_options& options) { path = options.unix_path = options.state_directory + "/http.sock"; });
  struct stat there {};
  REQUIRE(::stat(path.c_str(), &there) == 0);
  CHECK((there.st_mode & 0777) == 0600);
  http_client client(path);
  CHECK(client.ask("GET", "/v1/status", gateway_world::admin()).status == 200);
}

TEST_CASE("a port in use, a bad address and plain HTTP off loopback are clear errors") {
  gateway_world world;
  const auto fault_of = [&](const std::string& listen) {
    gateway_options options;
    options.listen = listen;
    options.state_directory = world.directory.path();
    options.open_store = [directory = options.state_directory] { return storage::open_limited_reader(directory); };
    options.task_token_key = "k";
    auto second = gateway::start(std::move(options), *world.controller, world.output);
    return second ? std::string("started") : second.error().code;
  };
  CHECK(fault_of("127.0.0.1:" + std::to_string(world.front->port())) == "address_in_use");
  CHECK(fault_of("nowhere") == "bad_address");
  CHECK(fault_of("127.0.0.1:99999") == "bad_address");
  CHECK(fault_of("0.0.0.0:0") == "insecure_listen");
}

TEST_CASE("500 requests in flight on as many connections are all answered") {
  gateway_world world;
  std::vector<std::unique_ptr<http_client>> clients;
  for (int i = 0; i < 500; ++i) clients.push_back(std::make_unique<http_client>(world.front->port()));
  for (auto& client : clients) client->send_request("GET", "/v1/status", gateway_world::admin());
  int answered = 0;
  for (auto& client : clients) answered += client->read_reply().status == 200 ? 1 : 0;
  CHECK(answered == 500);
}

TEST_CASE("a stop ends idle connections, long polls and streams in time") {
  gateway_world world;
  const auto id = world.controller->start_operation("team");
  auto idle = world.connect();
  CHECK(idle.ask("GET", "/healthz").status == 200);
  auto polling = world.connect();
  polling.send_request("GET", "/v1/operations/" + id.text() + "?wait=ended&wait_ms=60000", gateway_world::admin());
  auto watching = world.connect();
  watching.send_request("GET", "/v1/events", gateway_world::watching());
  CHECK(watching.read_head().status == 200);
  watching.read_until("retry: 1000\n\n");
  const auto begin = std::chrono::steady_clock::now();
  world.front->stop();
  CHECK(std::chrono::steady_clock::now() - begin < testing::patient(std::chrono::seconds(30)));
  CHECK(idle.at_end());
}

TEST_CASE("the time for a header is not wound up by the bytes that drip in") {
  gateway_world world([](gateway_options& o) { o.header_timeout = milliseconds{5000}; });
  auto silent = world.connect();
  auto slow = world.connect();
  slow.send("GET /healthz HTTP/1.1\r\nX-Slow: ");
  slow.send("a");
  slow.send("b");
  CHECK(slow.at_end());
  // A connection that has sent nothing may wait for as long as an idle connection may.
  CHECK(silent.ask("GET", "/healthz").status == 200);
}

TEST_CASE("a body that never comes whole ends its connection in time") {
  gateway_world world([](gateway_options& o) { o.body_timeout = milliseconds{300}; });
  auto slow = world.connect();
  slow.send("POST /v1/cancels HTTP/1.1\r\nHost: q\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
  CHECK(slow.at_end());
}

TEST_CASE("who only waits makes room for who has something to say, the longest waiting first") {
  gateway_world world([](gateway_options& o) { o.max_connections = 3; });
  auto first = world.connect();
  CHECK(first.ask("GET", "/healthz").status == 200);
  auto second = world.connect();
  CHECK(second.ask("GET", "/healthz").status == 200);
  auto dripping = world.connect();
  dripping.send("GET /healthz HT");
  CHECK(second.ask("GET", "/healthz").status == 200); // now it has been idle for less time than the first
  auto newcomer = world.connect();
  CHECK(newcomer.ask("GET", "/healthz").status == 200);
  CHECK(first.at_end());
  CHECK(second.ask("GET", "/healthz").status == 200);
}

TEST_CASE("when all connections are at work the next is told so") {
  gateway_world world([](gateway_options& o) { o.max_connections = 1; });
  auto watcher = world.connect();
  watcher.send_request("GET", "/v1/events", gateway_world::watching());
  CHECK(watcher.read_head().status == 200);
  auto newcomer = world.connect();
  const auto answer = newcomer.ask("GET", "/v1/status", gateway_world::admin());
  CHECK(answer.status == 429);
  CHECK(answer.code() == "rate_limited");
  CHECK(answer.header("retry-after") == "1");
  CHECK(newcomer.at_end());
  auto canceller = world.connect(); // a few places are reserved for cancels
  CHECK(canceller.ask("POST", "/v1/cancels", gateway_world::admin(), R"({"scope":"idle"})").status == 200);
}
