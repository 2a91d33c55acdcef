// Shares of tokens, authors and scopes: what one may have alive, and that it comes back with each end.
#include <catch2/catch.hpp>

#include "controller/local_operations.hpp"
#include "tests/controller/ledger/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

namespace {

std::string refused(const outcome<created>& made) {
  return made ? std::string() : std::string(text_of(made.error().error.code));
}

ledger_settings with(std::size_t per_author, std::size_t per_scope, std::size_t turns) {
  ledger_settings s;
  s.max_live_per_author = per_author;
  s.max_live_per_scope = per_scope;
  s.max_turns_per_author = turns;
  return s;
}

caller by_token(const std::string& token) {
  caller by;
  by.role = role::chat;
  by.token_id = by.token_name = token;
  return by;
}

} // namespace

TEST_CASE("an author has so many live operations and no more, and others are not held up", "[quotas]") {
  world w(with(2, 0, 0));
  w.task("a1", {.scope = in("s"), .owner = "alice"});
  w.task("a2", {.scope = in("t"), .owner = "alice"});
  const auto third = w.try_task("a3", {.scope = in("s"), .owner = "alice"});
  REQUIRE(refused(third) == "too_many_operations");
  CHECK(third.error().error.detail ==
        "author alice has 2 live operations, which is its limit (limits.operations_per_author); wait until some have "
        "ended, or cancel some");
  CHECK(refused(w.try_task("b1", {.scope = in("s"), .owner = "bob"})) == "");
  w.cancel_task("a1");
  w.roll_out();
  CHECK(refused(w.try_task("a4", {.scope = in("s"), .owner = "alice"})) == "");
}

TEST_CASE("what another token starts in an author's name takes nothing of that author's share", "[quotas]") {
  world w(with(2, 0, 1));
  const auto makes = [&](const std::string& name, const std::string& token, kind what) {
    return refused(w.try_task(name, {.scope = in("s"), .owner = "alice", .what = what, .by = by_token(token)}));
  };
  CHECK(makes("f1", "stranger", kind::turn).empty());
  CHECK(makes("f2", "stranger", kind::task).empty());
  CHECK(makes("f3", "stranger", kind::task) == "too_many_operations");
  CHECK(makes("t1", "chat", kind::turn).empty());
  CHECK(makes("t2", "chat", kind::turn) == "too_many_operations");
  w.restart();
  CHECK(makes("t3", "chat", kind::task).empty());
  CHECK(makes("t4", "chat", kind::task) == "too_many_operations");
  w.cancel_task("f2");
  w.roll_out();
  CHECK(makes("t5", "chat", kind::task) == "too_many_operations");
  CHECK(makes("f4", "stranger", kind::task).empty());
}

TEST_CASE("a scope and what lies below it share one limit", "[quotas]") {
  world w(with(0, 2, 0));
  w.task("x", in("team/a"));
  w.task("y", in("team/b/c"));
  CHECK(refused(w.try_task("z", {.scope = in("team/d")})) == "too_many_operations");
  CHECK(refused(w.try_task("z", {.scope = in("team")})) == "too_many_operations");
  CHECK(refused(w.try_task("z", {.scope = in("teams")})) == "");
}

TEST_CASE("what a restart finds alive counts", "[quotas]") {
  world w(with(1, 0, 0));
  w.task("x", in("s"));
  w.restart();
  CHECK(refused(w.try_task("y", {.scope = in("s")})) == "too_many_operations");
}

TEST_CASE("an author has so many live turns and no more; other work does not count", "[quotas]") {
  world w(with(0, 0, 2));
  const auto turn = [&](const std::string& name, const std::string& scope, const std::string& owner) {
    return refused(w.try_task(name, {.scope = in(scope), .owner = owner, .what = kind::turn}));
  };
  CHECK(turn("t1", "s", "alice").empty());
  CHECK(turn("t2", "t", "alice").empty());
  CHECK(turn("t3", "u", "alice") == "too_many_operations");
  CHECK(turn("t4", "u", "bob").empty());
  CHECK(refused(w.try_task("a1", {.scope = in("s"), .owner = "alice"})).empty());
  w.restart();
  CHECK(turn("t5", "u", "alice") == "too_many_operations");
  REQUIRE(w.core->actors()->finish_local(w.id("t1"), {status::failed}, w.now));
  CHECK(turn("t6", "u", "alice").empty());
}
