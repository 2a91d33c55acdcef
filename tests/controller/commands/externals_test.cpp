// Commands of the owners of external operations: their answers must be true on disk.
#include <catch2/catch.hpp>

#include "tests/controller/commands/commands_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::commands_world;

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

TEST_CASE("a late report of an operation that nobody knows changes nothing") {
  commands_world w;
  w.done(commands::note_late_report{{operation_id::fresh(), owner_word::complete, "1", {}}});
  CHECK(w.c->operations().live_count() == 0);
}
