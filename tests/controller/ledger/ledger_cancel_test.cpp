// Cancels by scope and id: their coverage, their answers, their ends.
#include <catch2/catch.hpp>

#include "tests/controller/ledger/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

TEST_CASE("a scope cancel ends queued work, and tells the worker of running work once") {
  world w;
  w.task("queued", in("team/build"));
  w.task("running", in("team/build/deep"));
  w.task("elsewhere", in("team/buildings"));
  w.runs("running", "w1");
  w.stops.clear();

  const auto c = w.cancel_scope("team/build");
  CHECK(c.record.outcome == cancel_outcome::stopping);
  CHECK(c.record.report.operations == 2);
  CHECK(c.record.report.workers == std::vector<std::string>{"w1"});
  CHECK(w.status_of("queued") == "cancelling"); // derived: nothing was rolled out yet
  CHECK(w.status_of("running") == "cancelling");
  CHECK(w.status_of("elsewhere") == "pending");
  REQUIRE(w.stops.size() == 1);
  CHECK(w.stops[0].workers == std::vector<std::string>{"w1"});
  CHECK(w.stops[0].message.scope == in("team/build"));
  CHECK(w.stops[0].message.cutoff == c.record.seq);

  w.roll_out();
  CHECK(w.status_of("queued") == "cancelled");
  CHECK(w.row("queued").stop->how == receipt::never_started);
  CHECK(w.row("queued").stop->cancel == c.record.id);
  CHECK(w.report(c).status == cancel_status::fenced);
  w.applied("w1", c);
  CHECK(w.report(c).status == cancel_status::signalled);
  w.dies("running");
  CHECK(w.status_of("running") == "cancelled");
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.count(c, receipt::never_started) == 1);
  CHECK(w.count(c, receipt::terminated) == 1);
  CHECK(w.count(c, proof::never_ran) == 1);
  CHECK(w.count(c, proof::cgroup_empty) == 1);
  CHECK(w.store.cancels.at(c.record.id).status == cancel_status::settled);
  CHECK(w.status_of("elsewhere") == "pending");
}

TEST_CASE("a cancel of an idle scope records its cutoff and is settled at once") {
  world w;
  const auto c = w.cancel_scope("team/build");
  CHECK(c.record.outcome == cancel_outcome::nothing_live);
  CHECK(c.record.status == cancel_status::settled);
  CHECK(w.store.cutoffs.at(in("team/build")).cutoff == c.record.seq);
  CHECK(w.store.cancels.at(c.record.id).report.settled_ms);
  CHECK_FALSE(w.try_task("old", {.scope = in("team/build/x"), .as_of = c.record.seq}));
  CHECK(w.try_task("fresh", {.scope = in("team/build/x")}));
}

TEST_CASE("a cancel by id takes everything below it but what is detached, and nothing beside it") {
  world w;
  w.task("top", in("a"));
  w.child("left", "top");
  w.child("right", "top");
  w.child("leaf", "left");
  w.child("free", "left", on_parent_end::detach);
  w.child("below free", "free");
  const auto c = w.cancel_task("left");
  CHECK(c.record.report.operations == 2);
  w.roll_out();
  CHECK(w.status_of("left") == "cancelled");
  CHECK(w.status_of("leaf") == "cancelled");
  for (const char* name : {"top", "right", "free", "below free"}) CHECK(w.status_of(name) == "pending");
  CHECK(w.report(c).status == cancel_status::settled);

  const auto scope = w.cancel_scope("a");
  CHECK(scope.record.report.operations == 4);
  w.roll_out();
  for (const char* name : {"top", "right", "free", "below free"}) CHECK(w.status_of(name) == "cancelled");
}

TEST_CASE("children end before their parents") {
  world w;
  w.task("top", in("a"));
  w.child("middle", "top");
  w.child("leaf", "middle");
  w.cancel_scope("a");
  w.roll_out();
  CHECK(w.ended == std::vector<operation_id>{w.id("leaf"), w.id("middle"), w.id("top")});
  CHECK(w.event_types("top") == std::vector<std::string>{"operation_created", "operation_cancelled"});
}

TEST_CASE("an exit that the worker saw before it applied the cancel keeps its status") {
  world w;
  w.task("a", in("s"));
  w.task("b", in("s"));
  w.runs("a", "w1");
  w.runs("b", "w1");
  const auto c = w.cancel_scope("s");
  w.exits("a", 0);
  w.exits("b", 3);
  w.roll_out();
  CHECK(w.status_of("a") == "completed");
  CHECK(w.row("a").stop->how == receipt::already_finished);
  CHECK(w.row("a").stop->evidence == proof::exit_status);
  CHECK(w.status_of("b") == "failed");
  CHECK(w.row("b").error->message == "exited with code 3");
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.count(c, receipt::already_finished) == 2);
}

TEST_CASE("a second cancel joins the first, and may only tighten") {
  world w;
  w.task("a", in("s"));
  w.runs("a", "w1");
  auto first = w.order(records::target_scope{in("s")});
  first.grace = milliseconds{5000};
  const auto c = w.cancel(first);
  w.stops.clear();
  auto again = w.order(records::target_scope{in("s")});
  again.reason = "another reason";
  again.grace = milliseconds{9000};
  auto joined = w.cancel(again);
  CHECK(joined.record.outcome == cancel_outcome::joined);
  CHECK(joined.record.id == c.record.id);
  CHECK(joined.record.reason == "wrong branch");
  CHECK(w.stops.empty());
  again.grace = milliseconds{100};
  joined = w.cancel(again);
  CHECK(joined.record.outcome == cancel_outcome::joined);
  REQUIRE(w.stops.size() == 1);
  CHECK(w.stops[0].message.seq == c.record.seq);
  CHECK(w.stops[0].message.grace == milliseconds{100});

  w.task("newer", in("s"));
  const auto other = w.cancel(w.order(records::target_scope{in("s")}));
  CHECK(other.record.outcome == cancel_outcome::stopping);
  CHECK(other.record.id != c.record.id);
  CHECK(other.record.report.operations == 2);
  w.roll_out();
  w.dies("a", receipt::killed);
  CHECK(w.row("a").stop->cancel == c.record.id); // the first cancel counts
  CHECK(w.count(c, receipt::killed) == 1);
  CHECK(w.count(other, receipt::killed) == 1);
  CHECK(w.count(other, receipt::never_started) == 1);
  CHECK(w.report(other).status == cancel_status::settled);
  CHECK(w.report(c).status == cancel_status::settled);
}

TEST_CASE("the same cancel id with the same body is the same cancel; with another it is refused") {
  world w;
  w.task("a", in("s"));
  auto o = w.order(records::target_scope{in("s")});
  o.id = w.next_cancel();
  o.fingerprint = "one";
  const auto c = w.cancel(o);
  const auto again = w.cancel(o);
  CHECK(again.record.id == c.record.id);
  CHECK(again.record.seq == c.record.seq);
  w.roll_out();
  CHECK(w.cancel(o).record.status == cancel_status::settled);
  o.fingerprint = "two";
  const auto other = w.try_cancel(o);
  REQUIRE_FALSE(other);
  CHECK(other.error().error.code == error_code::id_conflict);
}

TEST_CASE("a cancel of what has ended answers already_finished and covers nothing") {
  world w;
  w.task("a", in("s"));
  w.runs("a", "w1");
  w.exits("a", 0);
  const auto c = w.cancel_task("a");
  CHECK(c.record.outcome == cancel_outcome::already_finished);
  CHECK(c.record.report.operations == 0);
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.status_of("a") == "completed");
}

TEST_CASE("what has ended outside of a token's scope is unknown to it, for a cancel and for a dry run") {
  world w;
  w.task("a", in("team/b"));
  w.runs("a", "w1");
  w.exits("a", 0);
  auto o = w.order(records::target_operation{w.id("a")});
  o.by_token.prefix = in("team/a");
  const auto refused = w.try_cancel(o);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().error.code == error_code::operation_not_found);
  o.mode = cancel_mode::dry_run;
  const auto dry = w.try_cancel(o);
  REQUIRE(dry);
  CHECK(dry->record.outcome == cancel_outcome::unknown_id);
}

TEST_CASE("a cancel before the create wins, for the length of a tombstone") {
  world w;
  const operation_id id = w.next_operation();
  auto must = w.order(records::target_operation{id});
  must.if_unknown = unknown_id::is_refused;
  REQUIRE_FALSE(w.try_cancel(must));
  CHECK(w.try_cancel(must).error().error.code == error_code::operation_not_found);
  CHECK(w.store.tombstones.empty());

  const auto c = w.cancel(records::target_operation{id});
  CHECK(c.record.outcome == cancel_outcome::unknown_id);
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.cancel(records::target_operation{id}).record.id == c.record.id);
  const auto refused = w.try_task("late", {.scope = in("s"), .id = id});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().error.code == error_code::stale_start);
  REQUIRE(refused.error().cancel);
  CHECK(refused.error().cancel->id == c.record.id);
  w.restart();
  CHECK(w.try_task("late", {.scope = in("s"), .id = id}).error().error.code == error_code::stale_start);

  w.pass(std::chrono::hours{24} + milliseconds{1});
  CHECK(w.store.tombstones.empty());
  // A create cannot outrun it.
  CHECK(w.try_task("late", {.scope = in("s"), .id = id}).error().error.code == error_code::bad_id);
}

TEST_CASE("tombstones have a quota per token") {
  ledger_settings s;
  s.max_tombstones_per_token = 2;
  world w(s);
  for (int i = 0; i < 2; ++i) w.cancel(records::target_operation{w.next_operation()});
  const auto third = w.try_cancel(w.order(records::target_operation{w.next_operation()}));
  REQUIRE_FALSE(third);
  CHECK(third.error().error.code == error_code::too_many_operations);
}

TEST_CASE("a token's namesake has a quota of tombstones of its own") {
  ledger_settings s;
  s.max_tombstones_per_token = 2;
  world w(s);
  const auto leave = [&](const char* token) {
    auto order = w.order(records::target_operation{w.next_operation()});
    order.by_token.token_name = "twin";
    order.by_token.token_id = token;
    const auto done = w.try_cancel(order);
    return done ? std::string() : std::string(text_of(done.error().error.code));
  };
  for (const std::string after : {"", "a restart"}) {
    if (!after.empty()) w.restart();
    INFO("after " << after);
    if (after.empty()) {
      CHECK(leave("one").empty());
      CHECK(leave("one").empty());
    }
    CHECK(leave("one") == "too_many_operations");
    CHECK(leave("other").empty());
  }
  CHECK(leave("other") == "too_many_operations"); // one before the restart and one after it
  CHECK(w.store.tombstones.size() == 4);
  // When a token's tombstones expire, it may leave new ones.
  w.pass(std::chrono::hours{24} + milliseconds{1});
  CHECK(w.store.tombstones.empty());
  CHECK(leave("one").empty());
  CHECK(leave("other").empty());
}

TEST_CASE("cancels by owner and of everything leave no cutoff and stop what newer work does not share") {
  world w;
  w.task("hers", in("s"));
  w.task("his", {.scope = in("s"), .owner = "bob"});
  w.task("below his", {.below = "his", .owner = "alice"});
  w.runs("his", "w1");
  w.stops.clear();
  const auto c = w.cancel(records::target_owner{"bob", {}});
  CHECK(c.record.report.operations == 2);
  REQUIRE(w.stops.size() == 1);
  CHECK(w.stops[0].message.operations == std::vector<operation_id>{w.id("his")});
  CHECK(w.store.cutoffs.empty());
  w.task("his later", {.scope = in("s"), .owner = "bob"});
  w.roll_out();
  w.dies("his");
  CHECK(w.status_of("below his") == "cancelled");
  CHECK(w.status_of("his") == "cancelled");
  CHECK(w.status_of("hers") == "pending");
  CHECK(w.status_of("his later") == "pending");
  CHECK(w.report(c).status == cancel_status::settled);

  const auto all = w.cancel(records::target_everything{});
  CHECK(all.record.report.operations == 2);
  w.roll_out();
  CHECK(w.core->live_count() == 0);
  CHECK(w.store.cutoffs.empty());
}

TEST_CASE("up_to_seq stops what was live then and what that has spawned since") {
  world w;
  w.task("old", in("s"));
  const auto seen = w.core->last_seq();
  w.task("new", in("s"));
  w.child("spawned", "old");
  w.runs("spawned", "w2");
  w.stops.clear();
  auto o = w.order(records::target_scope{in("s")});
  o.up_to_seq = seen;
  const auto c = w.cancel(o);
  CHECK(c.record.report.operations == 2);
  REQUIRE(w.stops.size() == 1); // its worker cannot derive this from the cutoff
  CHECK(w.stops[0].message.operations == std::vector<operation_id>{w.id("spawned")});
  w.roll_out();
  w.dies("spawned");
  CHECK(w.status_of("old") == "cancelled");
  CHECK(w.status_of("new") == "pending");
  CHECK(w.report(c).status == cancel_status::settled);
}

TEST_CASE("a dry run changes nothing and lists what the cancel then stops") {
  world w;
  w.task("a", in("s"));
  w.child("b", "a");
  w.task("c", in("t"));
  w.runs("b", "w1");
  const auto batches = w.batches.size();
  auto o = w.order(records::target_scope{in("s")});
  o.mode = cancel_mode::dry_run;
  const auto dry = w.cancel(o);
  CHECK(dry.would_stop == std::vector<operation_id>{w.id("a"), w.id("b")});
  CHECK(dry.record.report.operations == 2);
  CHECK(dry.record.report.workers == std::vector<std::string>{"w1"});
  CHECK(w.batches.size() == batches);
  CHECK(w.status_of("a") == "pending");
  o.target = records::target_scope{in("nobody/here")};
  CHECK(w.cancel(o).record.outcome == cancel_outcome::nothing_live);
  CHECK(w.core->scopes({}, listed_scopes::all, nullptr, 100).size() == 2);
}

TEST_CASE("a dry run of much work counts all of it and names the oldest") {
  world w;
  const auto before = w.task("before", in("other"));
  std::vector<operation_id> oldest;
  for (int i = 0; i < 1200; ++i) {
    const auto id = w.task(std::to_string(i), in(i % 3 == 0 ? "s" : i % 3 == 1 ? "s/a" : "s/b"));
    if (i < 1000) oldest.push_back(id);
  }
  auto o = w.order(records::target_scope{in("s")});
  o.mode = cancel_mode::dry_run;
  const auto dry = w.cancel(o);
  CHECK(dry.record.report.operations == 1200);
  CHECK(dry.truncated);
  CHECK(dry.would_stop == oldest);
  o.target = records::target_everything{};
  CHECK(w.cancel(o).record.report.operations == 1201);
  CHECK(w.cancel(o).would_stop.front() == before);
}

TEST_CASE("an unreachable worker does not hold up signalled, and its work stays unproven with a dead-by") {
  world w;
  w.task("here", in("s"));
  w.task("there", in("s"));
  w.runs("here", "w1");
  w.runs("there", "w2");
  const wall_time dead = w.now.wall + milliseconds{11'000};
  w.reach["w2"] = {false, w.now.wall, [dead](auto) { return std::optional<wall_time>(dead); }};
  const auto c = w.cancel_scope("s");
  CHECK(w.report(c).status == cancel_status::fenced);
  w.applied("w1", c);
  CHECK(w.report(c).status == cancel_status::signalled);
  w.roll_out();
  w.dies("here");
  const auto view = w.core->view_cancel(c.record.id, w.now);
  REQUIRE(view->unproven.size() == 1);
  CHECK(view->unproven[0].why == unproven_why::worker_unreachable);
  CHECK(view->unproven[0].next == next_action::lease_expiry);
  CHECK(view->unproven[0].dead_by == dead);
  w.core->lease_expired(
      "w2", [&](auto) { return w.now.boot; }, w.now);
  w.take();
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.count(c, proof::lease_expired) == 1);
  CHECK(w.status_of("there") == "cancelled");
}

TEST_CASE("queued work is cancelled in batches of a thousand, and what comes after the cancel is not touched") {
  world w;
  for (int i = 0; i < 10'000; ++i) w.task("t", in("s"));
  w.batches.clear();
  const auto c = w.cancel_scope("s");
  CHECK(c.record.report.operations == 10'000);
  w.task("after", in("s"));
  w.roll_out();
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.status_of("after") == "pending");
  for (const auto& batch : w.batches) CHECK(batch.size() <= 2'100);
}
