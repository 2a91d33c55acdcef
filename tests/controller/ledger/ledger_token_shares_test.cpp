// The share of a token: what was started with it, whoever owns it and wherever it is, and what that started in turn.
#include <catch2/catch.hpp>

#include "controller/ledger/invariants.hpp"
#include "controller/local_operations.hpp"
#include "tests/controller/ledger/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

namespace {

std::string refused(const outcome<created>& made) {
  return made ? std::string() : std::string(text_of(made.error().error.code));
}

ledger_settings most(std::size_t per_token) {
  ledger_settings s;
  s.max_live_per_token = per_token;
  return s;
}

caller with(const std::string& token) {
  caller by;
  by.role = role::operator_;
  by.token_id = "id-of-" + token;
  by.token_name = token;
  return by;
}

/// quell or the owner of the machine: known by what they are.
caller known_as(std::string_view identity) {
  caller by = with("x");
  by.token_name = by.token_id = identity;
  return by;
}

caller task_itself(const world& w, const std::string& name) {
  caller by;
  by.role = role::task;
  by.task = w.id(name);
  by.token_id = "task:" + by.task->text();
  by.token_name = "task " + by.task->text();
  return by;
}

} // namespace

TEST_CASE("a token has so many live operations, whatever authors and scopes it names", "[quotas]") {
  world w(most(2));
  w.task("1", {.scope = in("s"), .owner = "alice", .by = with("ci")});
  w.task("2", {.scope = in("t/u"), .owner = "bob", .by = with("ci")});
  const auto rows = w.store.operations.size(), events = w.store.events.size();
  const auto third = w.try_task("3", {.scope = in("v"), .owner = "carol", .by = with("ci")});
  REQUIRE(refused(third) == "too_many_operations");
  CHECK(third.error().error.detail ==
        "token ci has 2 live operations, which is its limit (limits.operations_per_token); wait until some have ended, "
        "or cancel some");
  CHECK(w.store.operations.size() == rows);
  CHECK(w.store.events.size() == events);
  CHECK(refused(w.try_task("other", {.scope = in("s"), .owner = "alice", .by = with("laptop")})) == "");
}

TEST_CASE("a place of a token comes back with each end, not before", "[quotas]") {
  world w(most(2));
  const auto make = [&](const std::string& name) {
    return refused(w.try_task(name, {.scope = in("s"), .by = with("ci")}));
  };
  w.task("a", {.scope = in("s"), .by = with("ci")});
  w.task("b", {.scope = in("s"), .by = with("ci")});
  w.runs("a", "w1");
  w.runs("b", "w1");
  CHECK(make("c") == "too_many_operations");
  w.exits("a", 0);
  CHECK(make("c") == "");
  CHECK(make("d") == "too_many_operations");
  w.cancel_task("b"); // never refused, and until there is proof it has its place
  w.roll_out();
  CHECK(make("d") == "too_many_operations");
  w.dies("b");
  CHECK(make("d") == "");
  w.cancel_scope("s"); // what was never sent ends at once
  w.roll_out();
  CHECK(make("e") == "");
  CHECK(make("f") == "");
  CHECK(make("g") == "too_many_operations");
}

TEST_CASE("what a restart finds alive takes the share of the token that started it", "[quotas]") {
  world w(most(2));
  w.task("a", {.scope = in("s"), .by = with("ci")});
  w.runs("a", "w1");
  w.task("a's", {.by = task_itself(w, "a")});
  w.restart();
  CHECK(refused(w.try_task("x", {.scope = in("s"), .by = with("ci")})) == "too_many_operations");
  CHECK(refused(w.try_task("x", {.by = task_itself(w, "a")})) == "too_many_operations");
  CHECK(refused(w.try_task("x", {.scope = in("s"), .by = with("laptop")})) == "");
  w.cancel_task("a's");
  w.roll_out();
  CHECK(refused(w.try_task("y", {.scope = in("s"), .by = with("ci")})) == "");
}

TEST_CASE("what a task starts takes the share of the token that started the task, however deep", "[quotas]") {
  world w(most(3));
  w.task("top", {.scope = in("s"), .by = with("ci")});
  w.task("below", {.by = task_itself(w, "top")});
  w.task("deeper", {.by = task_itself(w, "below")});
  CHECK(w.row("deeper").stop == std::nullopt);
  CHECK(w.store.operations.at(w.id("deeper")).via_token_id == "id-of-ci");
  const auto more = w.try_task("more", {.by = task_itself(w, "below")});
  REQUIRE(refused(more) == "too_many_operations");
  CHECK(more.error().error.detail.starts_with("the token that this work was started with has 3 live operations"));
  CHECK(refused(w.try_task("more", {.scope = in("s"), .by = with("ci")})) == "too_many_operations");
  // Another token's child of the same parent is its own.
  CHECK(refused(w.try_task("child", {.below = "top", .by = with("laptop")})) == "");
  CHECK(w.store.operations.at(w.id("child")).via_token_id == "id-of-laptop");
}

TEST_CASE("calls and sub-agents take the share of the token that their turn came by", "[quotas]") {
  world w(most(3));
  w.task("turn", {.scope = in("irc/room"), .what = kind::turn, .by = with("irc")});
  w.task("call", {.below = "turn", .what = kind::tool_call, .by = known_as(own_token_id)});
  w.task("agent", {.below = "call", .what = kind::sub_agent, .by = known_as(own_token_id)});
  CHECK(w.store.operations.at(w.id("agent")).via_token_id == "id-of-irc");
  CHECK(refused(w.try_task("x", {.below = "agent", .by = known_as(own_token_id)})) == "too_many_operations");
  CHECK(refused(w.try_task("x", {.scope = in("irc"), .by = with("irc")})) == "too_many_operations");
}

TEST_CASE("a token has so many live turns, whoever wrote their messages; other work does not count", "[quotas]") {
  ledger_settings s;
  s.max_turns_per_token = 2;
  world w(s);
  const auto turn = [&](const std::string& name, const std::string& author, const caller& by) {
    return w.try_task(name, {.scope = in("room/" + name), .owner = author, .what = kind::turn, .by = by});
  };
  CHECK(refused(turn("t1", "alice", with("irc"))) == "");
  CHECK(refused(turn("t2", "bob", with("irc"))) == "");
  const auto third = turn("t3", "carol", with("irc"));
  REQUIRE(refused(third) == "too_many_operations");
  CHECK(third.error().error.detail == "token irc has 2 live turns, which is its limit (limits.turns_per_token); wait "
                                      "until some have ended, or cancel some");
  CHECK(refused(turn("t3", "alice", with("slack"))) == "");
  for (const auto* name : {"own1", "own2", "own3"}) CHECK(refused(turn(name, "ada", known_as("bootstrap"))) == "");
  CHECK(refused(w.try_task("work", {.scope = in("s"), .by = with("irc")})) == "");
  w.task("call", {.below = "t1", .what = kind::tool_call, .by = known_as(own_token_id)});
  w.task("agent", {.below = "call", .what = kind::sub_agent, .by = known_as(own_token_id)});
  w.restart();
  CHECK(refused(turn("t4", "dora", with("irc"))) == "too_many_operations");
  w.cancel_task("t1"); // never refused
  w.roll_out();
  for (const auto* name : {"agent", "call", "t1"})
    w.core->actors()->finish_local(w.id(name), {status::cancelled}, w.now);
  w.take();
  CHECK(refused(turn("t4", "dora", with("irc"))) == "");
  CHECK(refused(turn("t5", "dora", with("irc"))) == "too_many_operations");
  for (const auto& sentence : broken_invariants(*w.core)) FAIL(sentence);
}

TEST_CASE("a turn that quell starts below another one takes the share of that one's token", "[quotas]") {
  ledger_settings s;
  s.max_turns_per_token = 1;
  world w(s);
  w.task("turn", {.scope = in("irc/room"), .what = kind::turn, .by = with("irc")});
  const auto below = w.try_task("more", {.below = "turn", .what = kind::turn, .by = known_as(own_token_id)});
  REQUIRE(refused(below) == "too_many_operations");
  CHECK(below.error().error.detail.starts_with("the token that this work was started with has 1 live turns"));
}

TEST_CASE("who owns the machine, quell itself and what is nobody's have no share", "[quotas]") {
  world w(most(1));
  const std::string identity = GENERATE("bootstrap", "quell", "");
  for (const auto* name : {"1", "2", "3"}) w.task(name, {.scope = in("s"), .by = known_as(identity)});
  w.task("below", {.by = task_itself(w, "1")});
  CHECK(w.store.operations.at(w.id("below")).via_token_id == identity);
  w.restart();
  w.task("4", {.scope = in("s"), .by = known_as(identity)});
  w.task("limited", {.scope = in("s"), .by = with("ci")});
  CHECK(refused(w.try_task("x", {.scope = in("s"), .by = with("ci")})) == "too_many_operations");
}

TEST_CASE("operations of rows that do not say their token count for nobody", "[quotas]") {
  world w(most(1));
  w.task("old", {.scope = in("s"), .by = with("ci")});
  w.store.operations.at(w.id("old")).via_token_id.clear(); // as an earlier version has left it
  w.restart();
  CHECK(refused(w.try_task("new", {.scope = in("s"), .by = with("ci")})) == "");
  CHECK(refused(w.try_task("newer", {.scope = in("s"), .by = with("ci")})) == "too_many_operations");
  w.task("of the old one", {.by = task_itself(w, "old")});
  w.cancel_task("old");
  w.roll_out();
  CHECK(refused(w.try_task("newer", {.scope = in("s"), .by = with("ci")})) == "too_many_operations");
}

TEST_CASE("detached work keeps its place after its parent has ended", "[quotas]") {
  world w(most(2));
  w.task("parent", {.scope = in("s"), .by = with("ci")});
  w.task("free", {.below = "parent", .edge = on_parent_end::detach, .by = with("ci")});
  w.runs("parent", "w1");
  w.exits("parent", 0);
  CHECK(refused(w.try_task("x", {.scope = in("s"), .by = with("ci")})) == "");
  CHECK(refused(w.try_task("y", {.scope = in("s"), .by = with("ci")})) == "too_many_operations");
}

TEST_CASE("a full share is deaf to no spoken stop, and refuses no repeated create", "[quotas]") {
  world w(most(1));
  const auto id = w.next_operation();
  const task_options again{.scope = in("s"), .id = id, .fingerprint = "print", .by = with("ci")};
  w.task("a", again);
  const auto repeated = w.try_task("a", again);
  REQUIRE(repeated);
  CHECK(repeated->existed);
  CHECK(refused(w.try_task("x", {.scope = in("s"), .by = with("ci")})) == "too_many_operations");
  CHECK(refused(w.try_task("said", {.scope = in("s"), .what = kind::exchange, .by = with("ci")})) == "");
  CHECK(w.cancel_scope("s").record.report.operations == 2);
}
