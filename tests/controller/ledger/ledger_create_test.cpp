// Rights to create, and refused creates: SURFACE 4 and 5.
#include <catch2/catch.hpp>

#include "tests/controller/ledger/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

namespace {

std::string refused(const outcome<created>& made) {
  return made ? std::string() : std::string(text_of(made.error().error.code));
}

} // namespace

TEST_CASE("a child of a cancelled or cancelling parent is stale and is answered with the cancel itself") {
  world w;
  w.task("top", in("team/build"));
  w.runs("top", "w1");
  const auto c = w.cancel_scope("team/build");
  const auto made = w.try_task("late", {.below = "top"});
  REQUIRE(refused(made) == "stale_start");
  REQUIRE(made.error().cancel);
  CHECK(made.error().cancel->id == c.record.id);
  CHECK(made.error().error.detail ==
        "scope team/build was cancelled at 2026-09-21T14:13:20.000Z by Alice: wrong branch. Nothing was started.");
  w.roll_out();
  w.dies("top");
  CHECK(refused(w.try_task("later", {.below = "top"})) == "stale_start");
  CHECK(refused(w.try_task("fresh", {.scope = in("team/build")})) == "");
}

TEST_CASE("a child of a completed or failed parent has lost its parent") {
  world w;
  w.task("done", in("s"));
  w.runs("done", "w1");
  w.exits("done", 0);
  CHECK(refused(w.try_task("late", {.below = "done"})) == "parent_ended");
}

TEST_CASE("a child's scope is its parent's or below it") {
  world w;
  w.task("top", in("team/a"));
  CHECK(refused(w.try_task("x", {.below = "top", .scope = in("team/ab")})) == "scope_outside_parent");
  CHECK(refused(w.try_task("x", {.below = "top", .scope = in("team")})) == "scope_outside_parent");
  CHECK(refused(w.try_task("x", {.below = "top", .scope = in("team/a/b")})) == "");
  w.child("heir", "top");
  CHECK(w.store.operations.at(w.id("heir")).scope == in("team/a"));
  CHECK(w.store.operations.at(w.id("heir")).root == w.id("top"));
}

TEST_CASE("deferred work is judged by when it was decided") {
  world w;
  const auto before = w.core->last_seq();
  const auto c = w.cancel_scope("s");
  CHECK(refused(w.try_task("old", {.scope = in("s/t"), .as_of = before})) == "stale_start");
  CHECK(refused(w.try_task("same", {.scope = in("s"), .as_of = c.record.seq})) == "stale_start");
  CHECK(refused(w.try_task("new", {.scope = in("s"), .as_of = c.record.seq + 1})) == "");
  CHECK(refused(w.try_task("beside", {.scope = in("st"), .as_of = before})) == "");
  w.restart();
  CHECK(refused(w.try_task("old", {.scope = in("s/t"), .as_of = before})) == "stale_start");
  w.roll_out();
  w.cancel_scope("s");
  w.roll_out();
  w.pass(std::chrono::hours{25});
  CHECK(w.store.cutoffs.empty()); // nothing unfinished lies below it any more
}

TEST_CASE("the same id with the same body is the same operation, also when it has ended") {
  world w;
  const operation_id id = w.next_operation();
  const task_options o{.scope = in("s"), .id = id, .fingerprint = "one"};
  CHECK_FALSE(w.try_task("a", o)->existed);
  CHECK(w.try_task("a", o)->existed);
  task_options other = o;
  other.fingerprint = "two";
  CHECK(refused(w.try_task("a", other)) == "id_conflict");
  w.runs("a", "w1");
  w.exits("a", 0);
  CHECK(w.try_task("a", o)->existed);
  CHECK(refused(w.try_task("a", other)) == "id_conflict");
}

TEST_CASE("a token's prefix and a task's own token bound what may be created and cancelled") {
  world w;
  w.task("own", in("team/a"));
  w.task("other", in("team/b"));
  w.runs("own", "w1");
  caller prefix;
  prefix.prefix = in("team/a");
  CHECK(refused(w.try_task("x", {.scope = in("team/b"), .by = prefix})) == "scope_forbidden");
  CHECK(refused(w.try_task("x", {.below = "other", .by = prefix})) == "operation_not_found");

  caller task;
  task.role = role::task;
  task.task = w.id("own");
  w.task("mine", {.by = task});
  CHECK(w.store.operations.at(w.id("mine")).parent == w.id("own"));
  CHECK(refused(w.try_task("x", {.below = "other", .by = task})) == "operation_not_found");
  CHECK(refused(w.try_task("x", {.edge = on_parent_end::detach, .by = task})) == "forbidden");
  CHECK(w.core->visible(w.id("own"), task));
  CHECK(w.core->visible(w.id("mine"), task));
  CHECK_FALSE(w.core->visible(w.id("other"), task));

  const auto cancel_as = [&](const caller& by, records::cancel_target target) {
    auto o = w.order(std::move(target));
    o.by_token = by;
    const auto answer = w.try_cancel(o);
    return answer ? std::string() : std::string(text_of(answer.error().error.code));
  };
  CHECK(cancel_as(task, records::target_operation{w.id("own")}) == "forbidden");
  CHECK(cancel_as(task, records::target_operation{w.id("other")}) == "operation_not_found");
  CHECK(cancel_as(task, records::target_scope{in("team/a")}) == "forbidden");
  CHECK(cancel_as(prefix, records::target_scope{in("team")}) == "scope_forbidden");
  CHECK(cancel_as(prefix, records::target_operation{w.id("other")}) == "operation_not_found");
  CHECK(cancel_as(task, records::target_operation{w.id("mine")}).empty());
  CHECK(cancel_as(prefix, records::target_everything{}).empty());
  w.roll_out();
  CHECK(w.status_of("other") == "pending");
  CHECK(w.status_of("own") == "cancelling");
}

TEST_CASE("depth, children and the number of live operations have limits") {
  ledger_settings s;
  s.max_depth = 2;
  s.max_children = 1;
  s.max_live_operations = 3;
  world w(s);
  w.task("top", in("s"));
  w.child("child", "top");
  CHECK(refused(w.try_task("x", {.below = "child"})) == "invalid_field");
  CHECK(refused(w.try_task("x", {.below = "top"})) == "too_many_operations");
  w.task("third", in("s"));
  CHECK(refused(w.try_task("x", {.scope = in("s")})) == "too_many_operations");
}

TEST_CASE("an operation's own supersede key cannot stop itself") {
  world w;
  w.task("top", {.scope = in("s"), .supersede = "k"});
  CHECK(refused(w.try_task("x", {.below = "top", .supersede = "k"})) == "invalid_field");
}

TEST_CASE("a start carries its ancestors up to a detached edge, and its spec whole") {
  world w;
  w.task("top", in("s"));
  w.child("free", "top", on_parent_end::detach);
  w.child("leaf", "free");
  const auto start = w.place("leaf", "w1");
  REQUIRE(start);
  CHECK(start->ancestors == std::vector<operation_id>{w.id("free")});
  CHECK(start->root == w.id("free"));
  CHECK(start->spec.command == std::vector<std::string>{"true"});
  CHECK(start->as_of == start->seq);
  CHECK_FALSE(w.place("leaf", "w2")); // placed once
}
