// Moves that the lifecycle forbids: each is refused and named, and stops its own operation, which fails once its end is
// proven.
#include <catch2/catch.hpp>

#include "controller/ledger/phase.hpp"
#include "tests/controller/ledger/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;
using live::phase;

namespace {

struct broken_world : world {
  broken_world() { provokes = true; }
  /// Its worker reports a good exit of something that, by the same report, never started.
  void exits_unstarted(const std::string& name) {
    wire::task_ended m;
    m.operation = id(name);
    m.exit = exit_state{0, {}};
    m.ended_at = now.wall;
    core->ended("w1", m, now);
    take();
  }
};

} // namespace

TEST_CASE("an end that the lifecycle forbids is a failure of this operation alone") {
  broken_world w;
  w.task("liar", in("s"));
  w.task("other", in("s"));
  REQUIRE(w.place("liar", "w1"));
  w.runs("other", "w1");
  w.freed.clear();
  w.exits_unstarted("liar");
  CHECK(w.forbidden == std::vector<std::string>{"pending>completed"});
  CHECK(w.status_of("liar") == "failed");
  CHECK(w.row("liar").error->code == "forbidden_move");
  CHECK(w.row("liar").error->message.find("from pending to completed") != std::string::npos);
  CHECK(w.freed.size() == 1);
  CHECK(w.status_of("other") == "running");
  w.exits("other", 0);
  CHECK(w.status_of("other") == "completed");
}

TEST_CASE("a forbidden end below a cancel settles it all the same") {
  broken_world w;
  w.task("liar", in("s"));
  REQUIRE(w.place("liar", "w1"));
  const auto c = w.cancel_scope("s");
  w.roll_out();
  w.exits_unstarted("liar");
  w.applied("w1", c);
  CHECK(w.report(c).status == cancel_status::settled);
  CHECK(w.store.terminal_events.at(w.id("liar")) == 1);
}

TEST_CASE("the operation of a forbidden move is stopped, and fails only with proof") {
  broken_world w;
  w.task("parent", in("s"));
  w.runs("parent", "w1");
  w.child("child", "parent");
  w.runs("child", "w2");
  w.task("other", in("s"));
  w.runs("other", "w1");
  w.stops.clear();
  w.core->stop_forbidden({w.id("parent"), "begun", "sent"}, w.now);
  w.take();
  w.roll_out();
  CHECK(w.status_of("parent") == "cancelling");
  CHECK(w.status_of("child") == "cancelling");
  CHECK(w.status_of("other") == "running");
  CHECK(w.stops.size() == 2);
  w.pass(std::chrono::minutes{5});
  CHECK(w.status_of("parent") == "cancelling"); // no proof, no end

  SECTION("also over a restart") { w.restart(); }
  SECTION("and a second one changes nothing") {
    const auto stops = w.stops.size();
    w.core->stop_forbidden({w.id("parent"), "begun", "sent"}, w.now);
    w.take();
    CHECK(w.stops.size() == stops);
  }
  w.dies("child");
  w.dies("parent");
  CHECK(w.status_of("parent") == "failed");
  CHECK(w.row("parent").error->code == "forbidden_move");
  CHECK(w.row("parent").stop->evidence == proof::cgroup_empty);
  CHECK(w.status_of("child") == "cancelled");
}

TEST_CASE("work that exits well after a forbidden move has failed") {
  broken_world w;
  w.task("t", in("s"));
  w.runs("t", "w1");
  w.core->stop_forbidden({w.id("t"), "begun", "sent"}, w.now);
  w.take();
  w.exits("t", 0);
  CHECK(w.status_of("t") == "failed");
  CHECK(w.row("t").error->code == "forbidden_move");
}

TEST_CASE("a forbidden move of what is already being stopped leaves the end to the first stop") {
  broken_world w;
  w.task("t", in("s"));
  w.runs("t", "w1");
  w.cancel_task("t");
  w.roll_out();
  w.core->stop_forbidden({w.id("t"), "begun", "sent"}, w.now);
  w.take();
  w.dies("t");
  CHECK(w.status_of("t") == "cancelled");
  CHECK_FALSE(w.row("t").error);
}

TEST_CASE("what waits for an older operation may not begin before it") {
  broken_world w;
  w.task("older", {.scope = in("s"), .supersede = "key", .what = kind::turn});
  w.task("newer", {.scope = in("s"), .supersede = "key", .what = kind::turn});
  CHECK_FALSE(w.core->actors()->start_local(w.id("newer"), w.now));
  w.take();
  CHECK(w.forbidden == std::vector<std::string>{"behind_older>begun"});
  CHECK(w.status_of("newer") == "failed");
  CHECK(w.row("newer").error->code == "forbidden_move");
  CHECK(w.row("newer").stop->how == receipt::never_started);
}

TEST_CASE("a live row with a terminal status keeps that status") {
  broken_world w;
  w.task("t", in("s"));
  w.runs("t", "w1");
  auto disk = w.store.recovered();
  REQUIRE(disk.live.size() == 1);
  disk.live[0].hot.now = status::completed; // no life of this product writes that
  w.core = ledger::make(w.settings, std::move(disk), w.now);
  w.cancel_task("t");
  w.roll_out();
  REQUIRE_FALSE(w.forbidden.empty());
  CHECK(w.forbidden.front() == "completed>cancelling");
  CHECK(w.core->view(w.id("t"), w.now));
}

TEST_CASE("every phase but the last two can be left, and ends as begun or never begun") {
  for (std::size_t p = 0; p <= static_cast<std::size_t>(phase::over); ++p) {
    const auto from = static_cast<phase>(p);
    CHECK_FALSE(live::may_move(from, from));
    CHECK(live::may_move(from, live::end_of(from)) == !live::is_over(from));
    CHECK(live::has_begun(live::end_of(from)) == live::has_begun(from));
  }
}
