// Effects of a full disk on starts, on cancels and on the answers that depend on them.
#include <catch2/catch.hpp>

#include "controller/commands/drain_worker.hpp"
#include "controller/commands/resume_worker.hpp"
#include "tests/controller/commit_gate_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::world;

namespace {

/// One task of a worker that joined, ran the task and reported its own end.
struct one_task : world {
  operation_id id;
  one_task() {
    worker_joins();
    commit();
    create();
    commit();
    REQUIRE(*created_answer);
    id = (*created_answer)->value().id;
    says(wire::task_started{id, 7, now.wall, containment::cgroup_pidns});
    c->end_burst(now);
    commit();
  }
  void says(wire::message what) { c->frame("route", key, {session, ++worker_number, 0, std::move(what)}, now); }
  void ends() {
    wire::task_ended end;
    end.operation = id;
    end.exit.emplace();
    end.started_at = end.ended_at = now.wall;
    says(end);
    c->end_burst(now);
  }
};

} // namespace

TEST_CASE("a cancel that cannot be written is performed all the same and says so", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.create();
  w.commit();
  REQUIRE(w.edges.count<wire::start>() == 1);
  w.cancel();
  w.refuse(w.edges.tickets);
  REQUIRE(*w.cancel_answer);
  CHECK_FALSE((**w.cancel_answer)->record.durable);
  CHECK(w.edges.count<wire::stop>() == 1);
  CHECK_FALSE(w.edges.failure);
  // When there is space again, the refused rows are written.
  const auto before = w.edges.batches.size();
  w.c->tick(w.now);
  bool rewritten = false;
  for (std::size_t i = before; i < w.edges.batches.size(); ++i)
    for (const auto& e : w.edges.batches[i]) rewritten = rewritten || std::holds_alternative<records::put_cutoff>(e);
  CHECK(rewritten);
}

TEST_CASE("a cancel is written with the cancels and ends before it that were refused", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.create("b");
  w.commit();
  w.edges.low = true; // no second try yet
  w.cancel("b");
  w.refuse(w.edges.tickets);
  const auto before = w.edges.batches.size();
  w.cancel("a"); // for a restart "b" would live without its cancel, and this one would have been the newer
  w.c->end_burst(w.now);
  int cutoffs = 0;
  for (std::size_t i = before; i < w.edges.batches.size(); ++i)
    for (const auto& e : w.edges.batches[i]) cutoffs += std::holds_alternative<records::put_cutoff>(e) ? 1 : 0;
  CHECK(cutoffs == 2);
}

TEST_CASE("a start that cannot be written is refused, never sent, and ends the process", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.create();
  w.refuse(w.edges.tickets);
  REQUIRE(*w.created_answer);
  REQUIRE_FALSE((*w.created_answer)->has_value());
  CHECK((*w.created_answer)->error().error.code == error_code::storage_unavailable);
  CHECK(w.edges.count<wire::start>() == 0);
  CHECK(w.edges.failure.has_value());
}

TEST_CASE("with little space starts are refused and cancels are not", "[core]") {
  world w;
  w.edges.low = true;
  w.create();
  REQUIRE(*w.created_answer);
  CHECK_FALSE((*w.created_answer)->has_value());
  w.cancel();
  w.commit();
  REQUIRE(*w.cancel_answer);
  CHECK((*w.cancel_answer)->has_value());
}

TEST_CASE("a result that comes again is not acknowledged while its end is on its way to the disk once more", "[core]") {
  one_task w;
  w.ends();
  w.refuse(w.edges.tickets);
  w.create("b");
  w.ends(); // it was not acknowledged, so the worker repeats it; like the create, the repeat waits for the disk
  const auto repeated = w.edges.tickets;
  w.c->tick(w.now); // the refused rows are retried after it
  REQUIRE(w.edges.tickets > repeated);
  w.c->committed({repeated, {}}, w.now);
  CHECK(w.edges.count<wire::results_stored>() == 0);
  w.commit();
  CHECK(w.edges.count<wire::results_stored>() == 1);
}

TEST_CASE("an end is known from its order on until it is on disk, whatever the disk says meanwhile", "[core]") {
  one_task w;
  const auto known = [&] { return w.c->beyond_disk(w.id, w.now); };
  REQUIRE(known());
  CHECK(known()->now == status::running);
  w.ends();
  REQUIRE(known());
  CHECK(known()->now == status::completed); // submitted
  w.refuse(w.edges.tickets);
  REQUIRE(known());
  CHECK(known()->now == status::completed); // refused
  w.c->tick(w.now);
  REQUIRE(known());
  CHECK(known()->now == status::completed); // retried
  w.commit();
  CHECK_FALSE(known());
}

TEST_CASE("nothing but a stop leaves for a worker whose own row waits for its retry", "[core]") {
  one_task w;
  const auto order = [&](auto what) {
    w.c->execute({std::move(what), {}}, w.now);
    w.c->end_transaction(w.now);
  };
  order(commands::drain_worker{"w1", "upgrade", {}, worker_tasks::go_on, {}});
  w.commit();
  w.create("b"); // waits: no worker takes it
  w.commit();
  REQUIRE(w.edges.count<wire::start>() == 1);

  order(commands::resume_worker{"w1"});
  const auto row = w.edges.tickets;
  w.c->end_burst(w.now); // the waiting task is placed, in a transaction of its own
  REQUIRE(w.edges.tickets == row + 1);
  w.cancel("a");
  w.refuse(row);
  w.c->committed({w.edges.tickets, {}}, w.now);
  CHECK(w.edges.count<wire::start>() == 1);
  CHECK(w.edges.count<wire::stop>() == 1);
  REQUIRE(*w.cancel_answer);
  CHECK((**w.cancel_answer)->record.durable);
  CHECK_FALSE(w.edges.failure);

  // Its session is over, since a numbered frame is missing. Its next hello writes the row and gets the task.
  w.c->tick(w.now);
  w.commit();
  const auto before = w.session;
  while (w.session.time() <= before.time()) w.session = session_id::fresh(); // each hello proposes a later one
  w.worker_number = 0;
  w.worker_joins();
  w.commit();
  CHECK(w.edges.count<wire::start>() == 2);
}
