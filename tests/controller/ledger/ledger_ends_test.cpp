// Ends of operations: their own, with their parents, by time, with their worker, by an admin's declaration.
#include <catch2/catch.hpp>

#include "tests/controller/ledger/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

TEST_CASE("the end of its own work decides, and it is terminal when its children are") {
  world w;
  w.task("parent", in("s"));
  w.runs("parent", "w1");
  w.child("waited", "parent", on_parent_end::wait);
  w.child("dropped", "parent");
  w.child("free", "parent", on_parent_end::detach);
  w.runs("waited", "w1");
  w.runs("dropped", "w1");
  w.stops.clear();
  w.exits("parent", 0);
  CHECK(w.status_of("parent") == "running");
  CHECK(w.row("parent").self_status == status::completed);
  CHECK(w.status_of("waited") == "running");
  CHECK(w.status_of("dropped") == "cancelling");
  CHECK(w.row("dropped").stop->cause == stop_cause::parent_ended);
  REQUIRE(w.stops.size() == 1); // names the one child, not the parent: the other child continues
  CHECK(w.stops[0].message.operations == std::vector<operation_id>{w.id("dropped")});
  w.dies("dropped");
  CHECK(w.status_of("parent") == "running");
  w.exits("waited", 0);
  CHECK(w.status_of("parent") == "completed");
  CHECK(w.row("parent").ended_seq > w.row("waited").ended_seq);
  CHECK(w.status_of("free") == "pending");
  CHECK(w.core->live_count() == 1);
}

TEST_CASE("a failing parent stops all but the detached") {
  world w;
  w.task("parent", in("s"));
  w.runs("parent", "w1");
  w.child("waited", "parent", on_parent_end::wait);
  w.child("below", "waited");
  w.child("free", "parent", on_parent_end::detach);
  w.runs("below", "w2");
  w.stops.clear();
  w.exits("parent", 9);
  CHECK(w.status_of("waited") == "cancelling");
  CHECK(w.status_of("below") == "cancelling");
  REQUIRE(w.stops.size() == 1);
  CHECK(w.stops[0].workers == std::vector<std::string>{"w2"});
  w.roll_out();
  w.dies("below");
  CHECK(w.status_of("waited") == "cancelled");
  CHECK(w.status_of("parent") == "failed");
  CHECK(w.row("parent").error->code == "error");
  CHECK(w.status_of("free") == "pending");
}

TEST_CASE("a parent that waits for its children when the cancel comes keeps its own end") {
  world w;
  w.task("parent", in("s"));
  w.runs("parent", "w1");
  w.child("waited", "parent", on_parent_end::wait);
  w.runs("waited", "w1");
  w.exits("parent", 0);
  const auto c = w.cancel_scope("s");
  CHECK(c.record.report.operations == 2);
  w.roll_out();
  w.dies("waited", receipt::killed);
  CHECK(w.status_of("parent") == "completed");
  CHECK(w.row("parent").stop->how == receipt::already_finished);
  CHECK(w.status_of("waited") == "cancelled");
  CHECK(w.report(c).status == cancel_status::settled);
}

TEST_CASE("a timeout fails the operation and cancels what is below it") {
  world w;
  w.task("slow", {.scope = in("s"), .timeout = milliseconds{500}});
  w.runs("slow", "w1");
  w.child("below", "slow");
  w.runs("below", "w2");
  w.pass(milliseconds{499});
  CHECK(w.status_of("slow") == "running");
  w.stops.clear();
  w.pass(milliseconds{1});
  CHECK(w.status_of("slow") == "cancelling");
  CHECK(w.row("slow").stop->cause == stop_cause::timeout);
  REQUIRE(w.stops.size() == 2);
  w.roll_out();
  w.dies("below");
  w.dies("slow", receipt::killed);
  CHECK(w.status_of("below") == "cancelled");
  CHECK(w.row("below").stop->cause == stop_cause::parent_ended);
  CHECK(w.status_of("slow") == "failed");
  CHECK(w.row("slow").error->code == "timeout");
}

TEST_CASE("capacity is freed once, with the proof, and results are acknowledged however often they come") {
  world w;
  w.task("a", {.scope = in("s"), .slots = 3});
  w.runs("a", "w1");
  CHECK(w.core->slots_on("w1") == 3);
  w.cancel_scope("s");
  w.roll_out();
  CHECK(w.freed.empty());
  wire::task_ended m;
  m.operation = w.id("a");
  m.stop_seq = w.core->last_seq();
  m.how = receipt::terminated;
  m.evidence = proof::group_empty;
  m.exit = exit_state{{}, "TERM"};
  m.started_at = m.ended_at = w.now.wall;
  for (int i = 0; i < 3; ++i) w.core->ended("w1", m, w.now);
  w.core->ended("w9", m, w.now);
  w.take();
  CHECK(w.freed == std::vector<std::pair<std::string, std::uint32_t>>{{"w1", 3}});
  CHECK(w.stored.size() == 4);
  CHECK(w.core->slots_on("w1") == 0);
  CHECK(w.row("a").exit->signal == "TERM");
}

TEST_CASE("a lost worker life ends its work as lost, or as killed where a cancel was pending") {
  world w;
  w.task("free", in("s"));
  w.child("child", "free");
  w.task("doomed", in("t"));
  for (const char* name : {"free", "doomed"}) w.runs(name, "w1");
  w.runs("child", "w2");
  const auto c = w.cancel_scope("t");
  w.core->reconcile("w1", w.hello(), false, w.now);
  w.take();
  w.roll_out();
  CHECK(w.status_of("doomed") == "cancelled");
  CHECK(w.row("doomed").stop->evidence == proof::cgroup_empty);
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.status_of("free") == "running"); // its own work failed, its child is being stopped
  CHECK(w.row("free").error->code == "worker_lost");
  CHECK(w.status_of("child") == "cancelling");
  w.dies("child");
  CHECK(w.status_of("free") == "failed");
}

TEST_CASE("work that never arrived at a worker of the same life is placed again; what ran is not") {
  world w;
  w.task("sent", in("s"));
  w.task("ran", in("s"));
  w.task("stopped", in("t"));
  REQUIRE(w.place("sent", "w1"));
  REQUIRE(w.place("stopped", "w1"));
  w.runs("ran", "w1");
  w.cancel_scope("t");
  w.roll_out();
  CHECK(w.status_of("stopped") == "cancelling"); // sent: only its worker can say that it never started
  w.placeable.clear();
  w.core->reconcile("w1", w.hello(), true, w.now);
  w.take();
  CHECK(w.status_of("sent") == "pending");
  CHECK(w.placeable == std::vector<operation_id>{w.id("sent")});
  CHECK(w.row("stopped").stop->how == receipt::never_started);
  CHECK(w.status_of("stopped") == "cancelled");
  CHECK(w.status_of("ran") == "failed");
  CHECK(w.freed.size() == 3);
  CHECK(w.place("sent", "w2"));
}

TEST_CASE("a worker that comes back is told every open stop that concerns it, and what should not live there") {
  world w;
  w.task("a", in("s"));
  w.runs("a", "w1");
  const auto c = w.cancel_scope("s");
  w.stops.clear();
  auto h = w.hello();
  const operation_id stray = w.next_operation();
  h.inventory = {{w.id("a"), wire::task_phase::running, 4242, w.now.wall, 0},
                 {stray, wire::task_phase::running, 7, w.now.wall, 0}};
  w.core->reconcile("w1", h, true, w.now);
  w.take();
  REQUIRE(w.stops.size() == 2);
  CHECK(w.stops[0].message.cancel == c.record.id);
  CHECK(w.stops[1].message.operations == std::vector<operation_id>{stray});
  CHECK(w.stops[1].message.grace == milliseconds{0});
  CHECK(w.status_of("a") == "cancelling");
}

TEST_CASE("a declared death frees the slot and is never called proven; late evidence stands beside it") {
  world w;
  w.task("stuck", in("s"));
  w.runs("stuck", "w1");
  CHECK(w.core->declare_dead(w.id("stuck"), "host burnt", {}, w.now).error().error.code == error_code::not_cancelling);
  const auto c = w.cancel_scope("s");
  REQUIRE(w.core->declare_dead(w.id("stuck"), "host burnt", {}, w.now));
  w.take();
  CHECK(w.status_of("stuck") == "cancelled");
  CHECK(w.freed.size() == 1);
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.count(c, receipt::declared) == 1);
  CHECK(w.count(c, proof::none) == 1);
  CHECK_FALSE(w.core->view_cancel(c.record.id, w.now)->proven);
  CHECK(w.core->declare_dead(w.id("stuck"), "again", {}, w.now).error().error.code == error_code::already_terminal);
  wire::task_ended m;
  m.operation = w.id("stuck");
  m.exit = exit_state{0, {}};
  m.started_at = m.ended_at = w.now.wall;
  w.core->ended("w1", m, w.now);
  w.take();
  CHECK(w.row("stuck").now == status::cancelled);
  CHECK(w.row("stuck").late.find("exit_status") != std::string::npos);
}

TEST_CASE("what is not a process of ours settles as unconfirmed after its grace and ten seconds") {
  world w;
  w.task("far", {.scope = in("s"), .grace = milliseconds{1000}, .what = kind::external});
  CHECK(w.status_of("far") == "running");
  const auto c = w.cancel_scope("s");
  w.roll_out();
  w.pass(milliseconds{10'900});
  CHECK(w.core->view_cancel(c.record.id, w.now)->unproven.at(0).why == unproven_why::awaiting_owner);
  w.pass(milliseconds{200});
  CHECK(w.status_of("far") == "cancelled");
  CHECK(w.count(c, receipt::unconfirmed) == 1);
  CHECK_FALSE(w.core->view_cancel(c.record.id, w.now)->proven);
}

TEST_CASE("a newer operation with the same key takes the older one's place when that has ended") {
  world w;
  w.task("first", {.scope = in("s"), .supersede = "deploy"});
  w.runs("first", "w1");
  w.placeable.clear();
  w.task("second", {.scope = in("s"), .supersede = "deploy"});
  CHECK(w.row("first").stop->cause == stop_cause::superseded);
  CHECK(w.placeable.empty());
  CHECK_FALSE(w.place("second", "w1"));
  CHECK(w.core->view(w.id("second"), w.now)->waiting->what == "start");
  w.task("third", {.scope = in("s"), .supersede = "deploy"});
  CHECK(w.status_of("second") == "cancelled");
  w.restart();
  w.placeable.clear();
  CHECK_FALSE(w.place("third", "w1"));
  w.dies("first");
  CHECK(w.status_of("first") == "cancelled");
  CHECK(w.placeable == std::vector<operation_id>{w.id("third")});
  CHECK(w.place("third", "w1"));
}

TEST_CASE("a drain stops all work on one worker with that cause") {
  world w;
  w.task("here", in("s"));
  w.task("there", in("s"));
  w.runs("here", "w1");
  w.runs("there", "w2");
  w.stops.clear();
  CHECK(w.core->stop_worker("w1", stop_cause::drain, w.now) == 1);
  w.take();
  REQUIRE(w.stops.size() == 1);
  CHECK(w.status_of("here") == "cancelling");
  CHECK(w.status_of("there") == "running");
  w.dies("here");
  CHECK(w.row("here").stop->cause == stop_cause::drain);
  CHECK(w.status_of("here") == "cancelled");
}

TEST_CASE("a drain's reason and author stand with what it stopped") {
  world w;
  w.task("here", in("s"));
  w.runs("here", "w1");
  CHECK(w.core->stop_worker_for("w1", stop_cause::drain, {"kernel update", {"root", "Root"}}, w.now) == 1);
  w.take();
  w.restart();
  CHECK(w.core->view(w.id("here"), w.now)->hot.stop->reason == "kernel update");
  w.dies("here");
  CHECK(w.row("here").stop->reason == "kernel update");
  CHECK(w.row("here").stop->by->id == "root");
}

TEST_CASE("what could not be executed never started") {
  world w;
  w.task("bad", in("s"));
  REQUIRE(w.place("bad", "w1"));
  wire::task_ended end;
  end.operation = w.id("bad");
  end.started_at = w.now.wall;
  end.ended_at = w.now.wall;
  end.exit = exit_state{127, std::nullopt};
  end.error_code = "start_failed";
  end.error_message = "cannot find bad";
  end.evidence = proof::cgroup_empty;
  w.core->ended("w1", end, w.now);
  w.take();
  CHECK(w.status_of("bad") == "failed");
  CHECK_FALSE(w.row("bad").started_at);
  CHECK(w.row("bad").exit->code == 127);
}

TEST_CASE("a cancel of what the caller saw ended is recorded under its id and finds itself again") {
  world w;
  w.task("done", in("s"));
  w.runs("done", "w1");
  w.exits("done", 0);
  auto o = w.order(records::target_operation{w.id("done")});
  o.id = w.next_cancel();
  o.has_ended = true;
  o.fingerprint = "print";
  const auto first = w.cancel(o);
  CHECK(first.record.outcome == cancel_outcome::already_finished);
  CHECK(w.store.cancels.at(*o.id).status == cancel_status::settled);
  CHECK(w.store.tombstones.empty());
  const auto again = w.cancel(o);
  CHECK(again.record.id == *o.id);
  CHECK(again.record.seq == first.record.seq);
}

TEST_CASE("what is dropped from the store is forgotten here too") {
  world w;
  w.task("done", in("s"));
  w.runs("done", "w1");
  w.exits("done", 0);
  const auto cancel = w.cancel_scope("s");
  w.core->forget({w.id("done")}, {cancel.record.id});
  CHECK_FALSE(w.core->view_cancel(cancel.record.id, w.now));
  // Evidence that comes now has no row that could store it.
  wire::task_ended late;
  late.operation = w.id("done");
  late.evidence = proof::cgroup_empty;
  w.batches.clear();
  w.core->ended("w1", late, w.now);
  w.take();
  for (const auto& batch : w.batches)
    for (const auto& e : batch) CHECK_FALSE(std::holds_alternative<records::update_operation>(e));
  w.pass(std::chrono::minutes{5});
}

TEST_CASE("work that never ran has not started, whatever its worker mixes up") {
  world w;
  w.task("unrun", in("s"));
  REQUIRE(w.place("unrun", "w1"));
  const auto c = w.cancel_scope("s");
  w.roll_out();
  wire::task_ended m;
  m.operation = w.id("unrun");
  m.stop_seq = c.record.seq;
  m.how = receipt::never_started;
  m.evidence = proof::never_ran;
  m.started_at = m.ended_at = w.now.wall; // it had its go, but no program was executed
  w.core->ended("w1", m, w.now);
  w.take();
  CHECK_FALSE(w.row("unrun").started_at);
  CHECK(w.count(c, proof::never_ran) == 1);
  const auto types = w.event_types("unrun");
  CHECK(std::count(types.begin(), types.end(), "operation_started") == 0);
}

TEST_CASE("what its worker said to run did run: never_ran after that is not believed") {
  world w;
  w.task("ran", in("s"));
  w.runs("ran", "w1");
  const auto c = w.cancel_scope("s");
  w.roll_out();
  w.dies("ran", receipt::never_started, proof::never_ran);
  CHECK(w.row("ran").started_at);
  CHECK(w.count(c, receipt::never_started) == 0);
  CHECK(w.count(c, proof::never_ran) == 0);
  CHECK(w.report(c).status == cancel_status::settled);
}

TEST_CASE("results in a hello count as they were reported, stopped ones too") {
  world w;
  w.task("stopped", in("s"));
  w.runs("stopped", "w1");
  const auto c = w.cancel_scope("s");
  w.roll_out();
  auto h = w.hello();
  wire::task_ended m;
  m.operation = w.id("stopped");
  m.stop_seq = c.record.seq;
  m.how = receipt::terminated;
  m.evidence = proof::pidns_gone;
  m.exit = exit_state{{}, "TERM"};
  m.started_at = m.ended_at = w.now.wall;
  h.results = {m};
  w.core->reconcile("w1", h, true, w.now);
  w.take();
  CHECK(w.count(c, receipt::terminated) == 1);
  CHECK(w.count(c, proof::pidns_gone) == 1);
  CHECK(w.row("stopped").exit->signal == "TERM");
  CHECK(w.stored.size() == 1);
}
