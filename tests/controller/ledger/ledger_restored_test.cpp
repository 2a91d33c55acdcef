// A restored backup: operations that were in flight when it was taken can have run since, and nobody is told otherwise.
#include <catch2/catch.hpp>

#include "tests/controller/ledger/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

namespace {

struct restored_world : world {
  /// The store's present state becomes the backup, and the ledger starts with it.
  void restore() {
    below = core->last_seq() + 1'000'000;
    start();
  }
  /// A crash after the restore.
  void start() {
    auto state = store.recovered();
    state.restored_below = below;
    state.next_seq = std::max(state.next_seq, below);
    core = ledger::make(settings, std::move(state), now);
    placeable.clear();
    stops.clear();
    take();
  }
  void says_hello(const std::string& worker, const std::vector<std::string>& inventory,
                  const std::vector<wire::task_ended>& results = {}) {
    auto h = hello();
    for (const auto& name : inventory) h.inventory.push_back({id(name), wire::task_phase::running, 4242, now.wall, 0});
    h.results = results;
    core->reconcile(worker, h, true, now);
    take();
  }
  std::string worker_of(const std::string& name) const { return row(name).worker.value_or("nobody"); }
  std::uint64_t below = 0;
};

} // namespace

TEST_CASE("what was on its way at the backup is not placed a second time", "[restored]") {
  restored_world w;
  w.task("sent", in("s"));
  w.task("queued", in("s"));
  REQUIRE(w.place("sent", "w1"));
  w.restore();
  w.says_hello("w1", {}); // it ran there, and its worker has forgotten it
  w.says_hello("w2", {});
  CHECK(w.placeable.empty());
  for (const char* name : {"sent", "queued"}) CHECK_FALSE(w.place(name, "w2"));
  CHECK(w.core->slots_on("w1") == 0);
  const bool dies_meanwhile = GENERATE(false, true);
  if (dies_meanwhile) {
    w.start();
    CHECK(w.placeable.empty());
  }
  w.pass(milliseconds{61'000});
  CHECK(w.status_of("sent") == "pending");
  w.pass(milliseconds{1'000});
  for (const char* name : {"sent", "queued"}) {
    CHECK(w.status_of(name) == "failed");
    CHECK(w.row(name).error->code == "interrupted");
    CHECK_FALSE(w.row(name).started_at);
  }
}

TEST_CASE("what a worker still has of a restored backup is taken over, wherever it was placed since", "[restored]") {
  restored_world w;
  w.task("there", in("s"));
  w.task("moved", in("s"));
  w.task("queued", in("s"));
  REQUIRE(w.place("there", "w1"));
  REQUIRE(w.place("moved", "w1"));
  w.restore();
  w.says_hello("w1", {"there"});
  w.says_hello("w2", {"moved", "queued"});
  CHECK(w.worker_of("there") == "w1");
  CHECK(w.worker_of("moved") == "w2");
  CHECK(w.worker_of("queued") == "w2");
  CHECK(w.core->slots_on("w1") == 1);
  CHECK(w.core->slots_on("w2") == 2);
  CHECK(w.stops.empty()); // no stray is killed
  w.pass(milliseconds{100'000});
  for (const char* name : {"there", "moved", "queued"}) CHECK(w.status_of(name) == "running");
  w.exits("moved", 0);
  CHECK(w.status_of("moved") == "completed");
}

TEST_CASE("a result that comes after a restore ends what the backup knew as waiting", "[restored]") {
  restored_world w;
  w.task("queued", in("s"));
  w.restore();
  wire::task_ended end;
  end.operation = w.id("queued");
  end.exit = exit_state{0, {}};
  end.started_at = end.ended_at = w.now.wall;
  w.says_hello("w2", {}, {end});
  CHECK(w.status_of("queued") == "completed");
  CHECK(w.worker_of("queued") == "w2");
  CHECK(w.stored.size() == 1);
}

TEST_CASE("a cancel after a restore never says of what may have run that it never started", "[restored]") {
  restored_world w;
  w.task("sent", in("s"));
  w.task("queued", in("s"));
  w.task("found", in("s"));
  REQUIRE(w.place("sent", "w1"));
  w.restore();
  const auto c = w.cancel_scope("s");
  w.roll_out();
  w.says_hello("w1", {});
  CHECK(w.status_of("sent") == "cancelling");
  CHECK(w.status_of("queued") == "cancelling");
  const auto view = w.core->view_cancel(c.record.id, w.now);
  REQUIRE(view);
  REQUIRE(view->unproven.size() == 3);
  CHECK(view->unproven[0].why == unproven_why::worker_unreachable);
  CHECK(view->unproven[0].next == next_action::lease_expiry);
  w.stops.clear();
  w.says_hello("w2", {"found"});
  REQUIRE(w.stops.size() == 1); // its worker gets the stop that it does not know
  CHECK(w.stops[0].workers == std::vector<std::string>{"w2"});
  CHECK(w.stops[0].message.cancel == c.record.id);
  w.dies("found");
  w.pass(milliseconds{62'000});
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.count(c, receipt::never_started) == 0);
  CHECK(w.count(c, proof::never_ran) == 0);
  CHECK(w.count(c, proof::lease_expired) == 2);
  CHECK(w.count(c, receipt::terminated) == 1);
}

TEST_CASE("a cancel after a restore tells the owner of what may have begun since, and waits for the owner",
          "[restored]") {
  restored_world w;
  create_order o;
  o.by.owner = {"alice", "Alice"};
  o.kind = kind::external;
  o.scope = in("s");
  o.external.start = start_when::later;
  const auto answers = w.next_operation(), is_silent = w.next_operation();
  for (const auto& each : {answers, is_silent}) REQUIRE(w.core->create(o, each, w.now));
  w.take();
  w.restore(); // their owner has started both since
  o.scope = in("s/fresh");
  const auto fresh = w.next_operation();
  REQUIRE(w.core->create(o, fresh, w.now));
  const auto c = w.cancel_scope("s");
  w.roll_out();
  CHECK(w.store.operations.at(fresh).hot.stop->how == receipt::never_started);
  REQUIRE(w.core->view(answers, w.now));
  CHECK(w.core->view(answers, w.now)->hot.now == status::cancelling);
  const auto beat = w.core->externals()->heartbeat({{}, {answers, is_silent}, {}}, w.now);
  CHECK(beat.cancels.size() == 2);
  REQUIRE(w.core->externals()->end_external({answers, owner_word::stopped, {}, {}}, {}, w.now));
  w.take();
  const bool dies_meanwhile = GENERATE(false, true);
  if (dies_meanwhile) w.start();
  w.pass(milliseconds{13'000});
  CHECK(w.store.operations.at(answers).hot.stop->evidence == proof::reported);
  CHECK(w.store.operations.at(is_silent).hot.stop->how == receipt::unconfirmed);
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.count(c, receipt::never_started) == 1);
}

TEST_CASE("a task with a longer lease of its own is doubted for as long", "[restored]") {
  restored_world w;
  w.task("long", {.scope = in("s"), .lease = milliseconds{600'000}});
  w.restore();
  w.pass(milliseconds{606'000});
  CHECK(w.status_of("long") == "pending");
  w.pass(milliseconds{2'000});
  CHECK(w.status_of("long") == "failed");
}

TEST_CASE("a turn that waited in a backup is not taken a second time; what comes after the restore is", "[restored]") {
  restored_world w;
  create_order o;
  o.by.owner = {"alice", "Alice"};
  o.kind = kind::turn;
  o.scope = in("s");
  o.start = start_when::later;
  const auto turn = w.next_operation();
  REQUIRE(w.core->create(o, turn, w.now));
  w.take();
  w.restore();
  CHECK(w.core->actors()->open_turns().empty());
  CHECK(w.store.operations.at(turn).hot.error->code == "interrupted");
  const auto fresh = w.next_operation();
  REQUIRE(w.core->create(o, fresh, w.now));
  w.task("fresh", in("s"));
  CHECK(w.placeable == std::vector<operation_id>{w.id("fresh")});
  w.start();
  const auto open = w.core->actors()->open_turns();
  REQUIRE(open.size() == 1);
  CHECK(open[0].id == fresh);
  CHECK(open[0].scope == in("s"));
  CHECK_FALSE(open[0].has_started);
  CHECK(w.placeable == std::vector<operation_id>{w.id("fresh")});
}

TEST_CASE("a turn that ran at the backup does not go on: it can have gone on elsewhere", "[restored]") {
  restored_world w;
  create_order o;
  o.by.owner = {"alice", "Alice"};
  o.kind = kind::turn;
  o.scope = in("s");
  const auto turn = w.next_operation();
  REQUIRE(w.core->create(o, turn, w.now));
  w.take();
  w.restore();
  CHECK(w.core->actors()->open_turns().empty());
  CHECK(w.store.operations.at(turn).hot.error->code == "interrupted");
}

TEST_CASE("what ran at the backup is dead by rule when every lease that was granted since is over", "[restored]") {
  restored_world w;
  w.task("old", in("s"));
  w.runs("old", "w1");
  w.restore(); // a planned stop granted a handover in between
  w.task("fresh", in("s"));
  w.runs("fresh", "w1");
  const auto c = w.cancel_scope("s");
  w.roll_out();
  const auto the_known_lease_ends = [&] {
    const auto next = w.core->lease_expired(
        "w1", [&](auto) { return w.now.boot; }, w.now);
    w.take();
    return next;
  };
  const auto began = w.now.boot;
  w.pass(milliseconds{11'100});
  const auto next = the_known_lease_ends();
  REQUIRE(next);
  CHECK(*next == began + std::chrono::milliseconds{61'600});
  CHECK(w.status_of("old") == "cancelling");
  CHECK(w.status_of("fresh") == "cancelled");
  w.pass(milliseconds{50'600});
  CHECK_FALSE(the_known_lease_ends());
  CHECK(w.status_of("old") == "cancelled");
  CHECK(w.count(c, proof::lease_expired) == 2);
}
