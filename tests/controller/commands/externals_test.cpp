// Commands of the owners of external operations: their answers must be true on disk.
#include <catch2/catch.hpp>

#include "tests/controller/commands/commands_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::commands_world;
using namespace std::chrono_literals;

TEST_CASE("an external operation starts, lives by heartbeats and ends by its owner's report") {
  commands_world w;
  const auto id = w.done(w.external(start_when::later))->id;
  CHECK(w.done(commands::start_external{id, w.admin()}));
  const auto beat = w.done(commands::renew_externals{{w.admin(), {id}, {}}});
  CHECK(beat.renewed == 1);
  CHECK(beat.cancels.empty());
  const auto ends = w.done(commands::end_externals{
      {{id, owner_word::complete, "1", {}}, {operation_id::fresh(), owner_word::complete, "", {}}}, w.admin()});
  REQUIRE(ends.size() == 2);
  CHECK(ends[0]);
  CHECK(ends[1].error().error.code == error_code::operation_not_found);
  CHECK_FALSE(w.c->operations().view(id, w.now));
}

TEST_CASE("a heartbeat tells which operations must stop") {
  commands_world w;
  const auto id = w.done(w.external())->id;
  REQUIRE(w.done(w.cancel_of(id)));
  const auto beat = w.done(commands::renew_externals{{w.admin(), {id}, {}}});
  REQUIRE(beat.cancels.size() == 1);
  CHECK(beat.cancels.front().operation == id);
}

TEST_CASE("an end that the disk refused is not answered as a success") {
  commands_world w;
  const auto id = w.done(w.external())->id;
  const auto answer = w.give(commands::end_externals{{{id, owner_word::complete, "1", {}}}, w.admin()});
  w.c->end_burst(w.now);
  CHECK_FALSE(*answer);
  w.refuse(w.edges.tickets);
  REQUIRE(*answer);
  CHECK((**answer).front().error().error.code == error_code::storage_unavailable);
}

TEST_CASE("a start is not answered as a success while an earlier row is missing on disk") {
  commands_world w;
  const auto first = w.done(w.external())->id;
  const auto second = w.done(w.external(start_when::later))->id;
  w.edges.low = true; // no second try yet
  w.give(w.cancel_of(first));
  w.refuse(w.edges.tickets);
  const auto answer = w.give(commands::start_external{second, w.admin()});
  w.c->end_burst(w.now);
  CHECK_FALSE(*answer);
  w.commit();
  REQUIRE(*answer);
  CHECK((**answer).error().error.code == error_code::storage_unavailable);
}

TEST_CASE("an owner has the whole grace from the moment at which he is told, however slow the disk is") {
  commands_world w;
  const auto pass = [&w](std::chrono::milliseconds time) {
    w.now.wall = w.now.wall + time;
    w.now.boot = w.now.boot + time;
  };
  const auto id = w.done(w.external())->id;
  const auto of = [&w, &id](milliseconds grace) {
    auto cancel = w.cancel_of(id);
    cancel.order.grace = grace;
    return cancel;
  };
  w.give(of(30s));
  const auto fence = w.edges.tickets;
  auto grace = 30s;
  SECTION("of the cancel") {}
  SECTION("of one that joins it meanwhile") {
    pass(1s);
    w.give(of(5s));
    grace = 5s;
  }
  pass(3s);
  w.c->committed({fence, {}}, w.now);
  const auto notified_at = w.now.wall;
  pass(200ms);
  w.commit();
  REQUIRE_FALSE(w.edges.owner_signals.empty());
  for (const auto& signal : w.edges.owner_signals) {
    CHECK(signal.since == notified_at);
    CHECK(signal.kill_at == notified_at + grace);
  }
  CHECK(w.c->operations().view(id, w.now)->hot.stop->kill_at == notified_at + grace);
  pass(grace + 9s);
  w.c->tick(w.now);
  w.commit();
  CHECK(w.c->operations().view(id, w.now));
  pass(800ms);
  w.c->tick(w.now);
  w.commit();
  CHECK_FALSE(w.c->operations().view(id, w.now));
}

TEST_CASE("a late report of an operation that nobody knows changes nothing") {
  commands_world w;
  w.done(commands::note_late_report{{operation_id::fresh(), owner_word::complete, "1", {}}});
  CHECK(w.c->operations().live_count() == 0);
}
