// create_operation and create_operations, by themselves and behind the gate.
#include <catch2/catch.hpp>

#include "tests/controller/commands/commands_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::commands_world;

TEST_CASE("a create uses the fresh id unless the order names one") {
  commands_world w;
  auto what = w.task();
  const auto made = apply(what, w.with());
  REQUIRE(made);
  CHECK(made->id == what.fresh);
  CHECK(w.c->operations().view(what.fresh, w.now));
}

TEST_CASE("a create is refused while the disk is almost full, at once and without a row") {
  commands_world w;
  const auto refused = apply(w.task(), w.with(true));
  REQUIRE(!refused);
  CHECK(refused.error().error.code == error_code::storage_unavailable);
  CHECK(w.c->operations().live_count() == 0);

  w.create(); // uncommitted from here on
  w.edges.low = true;
  const auto answer = w.give(w.task());
  REQUIRE(*answer);
  CHECK((**answer).error().error.code == error_code::storage_unavailable);
}

TEST_CASE("a create answers after its commit, and a write that failed is a refusal") {
  commands_world w;
  const auto answer = w.give(w.task());
  w.c->end_burst(w.now);
  CHECK_FALSE(*answer);
  w.refuse(w.edges.tickets);
  REQUIRE(*answer);
  CHECK((**answer).error().error.code == error_code::storage_unavailable);
  CHECK(w.edges.failure); // memory is ahead of the disk
}

TEST_CASE("many creates are one transaction in order, each with its own outcome") {
  commands_world w;
  const auto tickets = w.edges.tickets;
  commands::create_operations many{{w.task(), w.task(), w.task()}};
  many.all[1].order.parent = many.all[0].fresh;
  many.all[2].order.parent = operation_id::fresh(); // unknown
  const auto answer = w.give(many);
  w.c->end_burst(w.now);
  CHECK(w.edges.tickets == tickets + 1);
  CHECK_FALSE(*answer);
  w.commit();
  REQUIRE(*answer);
  const auto& outcomes = **answer;
  REQUIRE(outcomes.size() == 3);
  CHECK(outcomes[0]->id == many.all[0].fresh);
  CHECK(outcomes[1]->id == many.all[1].fresh);
  CHECK(!outcomes[2]);
}

TEST_CASE("many creates that the disk refused are refusals, each with its own reason") {
  commands_world w;
  commands::create_operations many{{w.task(), w.task()}};
  many.all[1].order.parent = operation_id::fresh();
  const auto reason = apply(many.all[1], w.with()).error().error.code;
  const auto answer = w.give(many);
  w.c->end_burst(w.now);
  w.refuse(w.edges.tickets);
  REQUIRE(*answer);
  CHECK((**answer)[0].error().error.code == error_code::storage_unavailable);
  CHECK((**answer)[1].error().error.code == reason);
}

TEST_CASE("creates of a burst share a transaction, and a cancel between them ends it") {
  commands_world w;
  const auto tickets = w.edges.tickets;
  const auto first = w.task();
  w.give(first);
  w.give(w.task());
  CHECK(w.edges.tickets == tickets);
  w.give(w.cancel_of(first.fresh));
  CHECK(w.edges.tickets == tickets + 1);
}

TEST_CASE("a new operation is shown as its commit leaves it, if the order asks for that") {
  commands_world w;
  CHECK_FALSE(w.done(w.external())->shown);
  auto what = w.external();
  what.order.is_shown = true;
  what.order.labels = {{"pr", "4711"}};
  const auto made = w.done(what);
  REQUIRE(made);
  REQUIRE(made->shown);
  const auto view = w.c->operations().view(made->id, w.now);
  REQUIRE(view);
  CHECK(made->shown->row.id == made->id);
  CHECK(made->shown->row.root == made->id);
  CHECK(made->shown->row.labels == what.order.labels);
  CHECK(made->shown->row.hot == view->hot);
  CHECK(made->shown->view.hot == view->hot);
  CHECK(made->shown->view.hot.now == status::running);
  CHECK(made->shown->view.lease_expires_at == view->lease_expires_at);

  what.order.id = made->id;
  const auto again = w.done(what);
  REQUIRE(again);
  CHECK(again->existed);
  CHECK_FALSE(again->shown);
}

TEST_CASE("an operation of a batch is shown as the whole batch leaves it") {
  commands_world w;
  commands::create_operations many{{w.external(), w.external(start_when::later), w.external()}};
  for (auto& one : many.all) one.order.is_shown = true;
  for (std::size_t i = 0; i < 2; ++i) many.all[i].order.supersede = std::string(i == 0 ? "first" : "second");
  many.all[2].order.supersede = "first";
  const auto made = w.done(many);
  REQUIRE(made.size() == 3);
  REQUIRE(made[0]->shown);
  CHECK(made[0]->shown->view.hot.now == status::cancelling); // the third one supersedes it
  REQUIRE(made[1]->shown);
  CHECK(made[1]->shown->view.hot.now == status::pending);
  CHECK(made[1]->shown->view.waiting);
  REQUIRE(made[2]->shown);
  CHECK(made[2]->shown->view.waiting);

  commands::create_operations ending{{w.external(start_when::later), w.external()}};
  for (auto& one : ending.all) one.order.is_shown = true, one.order.supersede = "third";
  const auto ended = w.done(ending);
  REQUIRE(ended.size() == 2);
  CHECK_FALSE(ended[0]->shown); // it has never started, so it has ended
  CHECK(ended[1]->shown);
}

TEST_CASE("a new operation that was changed by another command of its commit is not shown") {
  commands_world w;
  auto what = w.external(), other = w.external();
  what.order.is_shown = other.order.is_shown = true;
  const auto stopped = w.give(what), untouched = w.give(other);
  w.give(w.cancel_of(what.fresh));
  w.commit();
  REQUIRE((*stopped && *untouched));
  CHECK_FALSE((**stopped)->shown);
  CHECK((**untouched)->shown);
}
