// order_cancel: what it records, what it fences, and when its answer leaves.
#include <catch2/catch.hpp>

#include "tests/controller/commands/commands_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::commands_world;

TEST_CASE("a cancel is fenced in a transaction of its own, with its audit event") {
  commands_world w;
  const auto made = w.done(w.task());
  const auto tickets = w.edges.tickets;
  const auto answer = w.give(w.cancel_of(made->id));
  CHECK(w.edges.tickets == tickets + 1);
  CHECK_FALSE(*answer);
  w.commit();
  REQUIRE(*answer);
  REQUIRE(**answer);
  CHECK((**answer)->record.durable);
  CHECK((**answer)->record.report.fenced_ms);
  CHECK(w.events("audit") == 1);
}

TEST_CASE("a cancel that the disk refused is performed, and says that it is not durable") {
  commands_world w;
  const auto made = w.done(w.task());
  const auto answer = w.give(w.cancel_of(made->id));
  w.refuse(w.edges.tickets);
  REQUIRE(*answer);
  REQUIRE(**answer);
  CHECK_FALSE((**answer)->record.durable);
  CHECK_FALSE(w.edges.failure);
}

TEST_CASE("a cancel that may target only live work records nothing about other work") {
  commands_world w;
  auto what = w.cancel_of(operation_id::fresh());
  what.target = commands::order_cancel::may_target::live_target;
  w.create(); // uncommitted from here on
  const auto tickets = w.edges.tickets;
  const auto answer = w.give(what);
  CHECK(w.edges.tickets == tickets);
  w.c->end_burst(w.now);
  CHECK_FALSE(*answer); // the caller reads the store next, so it must not be behind
  w.commit();
  REQUIRE(*answer);
  REQUIRE(!**answer);
  CHECK((**answer).error().error.code == error_code::operation_not_found);
  CHECK(w.c->operations().open_cancels(w.now).empty());
  CHECK(w.events("audit") == 0);

  what.target = commands::order_cancel::may_target::anything;
  CHECK(w.done(what)); // a tombstone
  CHECK(w.events("audit") == 1);
}

TEST_CASE("a dry run and a joined cancel fence nothing") {
  commands_world w;
  const auto made = w.done(w.task());
  auto dry = w.cancel_of(made->id);
  dry.order.mode = cancel_mode::dry_run;
  const auto shown = apply(dry, w.with());
  REQUIRE(shown);
  CHECK_FALSE(must_be_fenced(dry, shown));
  CHECK(w.c->operations().open_cancels(w.now).empty());

  w.worker_joins();
  w.c->end_burst(w.now);
  w.commit();
  REQUIRE(w.edges.count<wire::start>() == 1);
  const auto first = w.cancel_of(made->id);
  const auto accepted = apply(first, w.with());
  CHECK(must_be_fenced(first, accepted));
  const auto second = w.cancel_of(made->id);
  const auto joined = apply(second, w.with());
  REQUIRE(joined);
  CHECK(joined->record.id == accepted->record.id);
  CHECK_FALSE(must_be_fenced(second, joined));
}
