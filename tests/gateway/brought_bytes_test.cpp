// Request bodies and the day's shares of bytes: what is counted for whom, what a refusal says, and that it never
// touches a cancel.
#include <catch2/catch.hpp>

#include "controller/byte_quota.hpp"
#include "tests/gateway/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;

namespace {

class played_quota final : public byte_quota {
 public:
  struct counted {
    byte_source from;
    std::uint64_t bytes = 0;
  };

  std::optional<bytes_refused> take(const byte_source& from, std::uint64_t bytes) override {
    const std::lock_guard lock(guard_);
    if (full_ && from.scope && from.scope->is_at_or_below(*full_))
      return bytes_refused{"it is full", std::chrono::seconds(77)};
    if (token_is_full_ && !from.token_is_counted) return bytes_refused{"the token is full", std::chrono::seconds(99)};
    taken_.push_back({from, bytes});
    return std::nullopt;
  }
  std::optional<bytes_refused> look(const byte_source&, std::uint64_t) const override { return std::nullopt; }
  void add(const byte_source& from, std::uint64_t bytes) override {
    const std::lock_guard lock(guard_);
    added_.push_back({from, bytes});
  }

  void give_back(const byte_source& from, std::uint64_t bytes) override {
    const std::lock_guard lock(guard_);
    given_back_.push_back({from, bytes});
  }

  void fill(const char* scope) {
    const std::lock_guard lock(guard_);
    full_ = scope_path::parse(scope).value();
  }
  void fill_token() {
    const std::lock_guard lock(guard_);
    token_is_full_ = true;
  }
  std::vector<counted> take_taken() {
    const std::lock_guard lock(guard_);
    return std::exchange(taken_, {});
  }
  std::vector<counted> take_given_back() {
    const std::lock_guard lock(guard_);
    return std::exchange(given_back_, {});
  }
  std::vector<counted> take_added() {
    const std::lock_guard lock(guard_);
    return std::exchange(added_, {});
  }

 private:
  std::mutex guard_;
  std::vector<counted> taken_, added_, given_back_;
  std::optional<scope_path> full_;
  bool token_is_full_ = false;
};

struct byte_world {
  played_quota quota;
  gateway_world world{[this](gateway_options& o) { o.bytes = &quota; }};
  std::string secret = world.token("operator");
  byte_world() { quota.take_taken(); }

  http_reply post(const std::string& target, const std::string& body) {
    return world.ask("POST", target, gateway_world::with(secret), body);
  }
};

const std::string in_team = R"({"kind":"external","name":"x","scope":"team/a","owner":{"id":"mia","name":"Mia"}})";

} // namespace

TEST_CASE("a body counts for its token, and for the scope and the author that it names", "[bytes]") {
  byte_world w;
  CHECK(w.post("/v1/operations", in_team).status == 201);
  const auto counted = w.quota.take_taken();
  REQUIRE(counted.size() == 2);
  CHECK(counted[0].bytes == in_team.size());
  CHECK_FALSE(counted[0].from.scope);
  CHECK(counted[0].from.author.empty());
  CHECK_FALSE(counted[0].from.token_is_counted);
  CHECK(counted[0].from.token_words == "token 'operator-token'");
  CHECK(counted[1].bytes == in_team.size());
  CHECK(counted[1].from.scope->text() == "team/a");
  CHECK(counted[1].from.author == "mia");
  CHECK(counted[1].from.token == counted[0].from.token);
  CHECK(counted[1].from.token_is_counted);
  CHECK(counted[0].from.token.size() == 36);
}

TEST_CASE("work below a parent counts for the parent's scope, and only if the caller sees it", "[bytes]") {
  byte_world w;
  const auto parent = w.world.controller->start_operation("team/deep/er");
  const auto child = R"({"kind":"external","name":"x","parent":")" + parent.text() + "\"}";
  CHECK(w.post("/v1/operations", child).status == 201);
  auto counted = w.quota.take_taken();
  REQUIRE(counted.size() == 2);
  CHECK(counted[1].from.scope->text() == "team/deep/er");
  const auto stranger = w.world.token("operator", "elsewhere");
  w.quota.take_taken();
  w.world.ask("POST", "/v1/operations", gateway_world::with(stranger), child);
  counted = w.quota.take_taken();
  REQUIRE(counted.size() == 1); // its token
  CHECK_FALSE(counted[0].from.scope);
}

TEST_CASE("each item of a batch counts for its scope, and one that is refused refuses no other", "[bytes]") {
  byte_world w;
  w.quota.fill("full");
  const std::string body = R"({"operations":[{"kind":"external","name":"x","scope":"team/a"},)"
                           R"({"kind":"external","name":"x","scope":"full/b"}]})";
  const auto answer = w.post("/v1/operations/batch", body);
  REQUIRE(answer.status == 200);
  const auto counted = w.quota.take_taken();
  REQUIRE(counted.size() == 2);
  CHECK(counted[0].bytes == body.size());
  CHECK(counted[1].bytes == body.size() / 2);
  CHECK(counted[1].from.scope->text() == "team/a");
  CHECK(answer.json()["results"][1]["status"] == 429);
  CHECK(answer.json()["results"][1]["error"]["detail"] == "it is full");
  const auto back = w.quota.take_given_back();
  REQUIRE(back.size() == 1);
  CHECK(back[0].bytes == body.size() / 2);
}

TEST_CASE("a full share is 429 with the time until there is room, and nothing is started", "[bytes]") {
  byte_world w;
  w.quota.fill("team");
  const auto refused = w.post("/v1/operations", in_team);
  CHECK(refused.status == 429);
  CHECK(refused.header("retry-after") == "77");
  CHECK(refused.json()["code"] == "rate_limited");
  CHECK(refused.json()["detail"] == "it is full");
  CHECK(w.world.controller->creates().empty());
}

TEST_CASE("a body that the scope's or the author's share refuses leaves its token's share as it was", "[bytes]") {
  byte_world w;
  w.quota.fill("team");
  REQUIRE(w.post("/v1/operations", in_team).status == 429);
  const auto counted = w.quota.take_taken(), back = w.quota.take_given_back();
  REQUIRE(counted.size() == 1);
  REQUIRE(back.size() == 1);
  CHECK(back[0].bytes == counted[0].bytes);
  CHECK(back[0].from.token == counted[0].from.token);
  CHECK_FALSE(back[0].from.token_is_counted);
  CHECK_FALSE(back[0].from.scope);
  CHECK(back[0].from.author.empty());

  w.quota.fill_token(); // and what the token's own share refuses was never counted
  REQUIRE(w.post("/v1/operations", in_team).status == 429);
  CHECK(w.quota.take_given_back().empty());
}

TEST_CASE("no full share touches a cancel or the end of work", "[bytes]") {
  byte_world w;
  const auto live = w.world.controller->start_operation("team/a");
  w.quota.fill("team");
  w.quota.fill_token();
  CHECK(w.post("/v1/operations", in_team).status == 429);
  CHECK(w.post("/v1/cancels", R"({"scope":"team/a"})").status == 202);
  CHECK(w.post("/v1/operations/" + live.text() + "/cancel", "{}").status == 202);
  w.quota.take_added();
  for (const char* what : {"stopped", "heartbeat"})
    CHECK(w.post("/v1/operations/" + live.text() + "/" + what, "{}").status != 429);
  CHECK(w.quota.take_added().empty());
  const std::string result = R"({"result":"a long one"})";
  CHECK(w.post("/v1/operations/" + live.text() + "/complete", result).status != 429);
  const auto counted = w.quota.take_added();
  REQUIRE_FALSE(counted.empty());
  CHECK(counted[0].bytes == result.size());
  CHECK(w.quota.take_taken().empty());
}

TEST_CASE("what a task sends with its own token counts for the token that started it", "[bytes]") {
  byte_world w;
  const auto made = w.post("/v1/operations", in_team);
  REQUIRE(made.status == 201);
  const auto own = w.quota.take_taken().front().from.token;
  const auto task = operation_id::parse(made.json()["id"].get<std::string>()).value();
  const auto as = [&](const operation_id& id) {
    w.world.ask("POST", "/v1/operations", gateway_world::with(mint_task_token(id, task_key)),
                R"({"kind":"external","name":"x"})");
    return w.quota.take_taken();
  };
  const auto counted = as(task);
  REQUIRE(counted.size() == 2);
  CHECK(counted[0].from.token == own);
  CHECK(counted[1].from.token == own);
  CHECK(counted[1].from.scope->text() == "team/a");
  CHECK(counted[1].from.author == "mia");
  const auto of_nobody = w.world.controller->start_operation("team/a"); // its row does not say who started it
  CHECK(as(of_nobody).front().from.token == "task:" + of_nobody.text());
}
