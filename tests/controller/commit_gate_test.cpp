// The gate of the core, on the real ledger and fleet: nothing uncommitted leaves.
#include <catch2/catch.hpp>

#include "tests/controller/commit_gate_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::world;
using namespace std::chrono_literals;

TEST_CASE("nothing of a start leaves before its commit", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  REQUIRE(w.edges.count<wire::welcome>() == 1);
  CHECK_FALSE(w.create());
  CHECK(w.edges.count<wire::start>() == 0);
  CHECK(std::count(w.edges.published.begin(), w.edges.published.end(), "operation_created") == 0);
  w.commit();
  REQUIRE(*w.created_answer);
  CHECK((*w.created_answer)->has_value());
  CHECK(w.edges.count<wire::start>() == 1);
  CHECK(std::count(w.edges.published.begin(), w.edges.published.end(), "operation_created") == 1);
}

TEST_CASE("a START whose operation is declared dead while it waits for the disk does not leave", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.create();
  const std::uint64_t creates = w.edges.tickets;
  const auto declared = w.c->operations().declare_worker_dead("w1", "it burnt down", w.now);
  w.c->end_burst(w.now);
  REQUIRE(declared == 1);
  REQUIRE(w.edges.tickets > creates);
  w.commit();
  CHECK(w.edges.count<wire::start>() == 0);
  CHECK(w.edges.count<wire::results_stored>() == 1); // its number is acknowledged though it has no effect
  CHECK(w.edges.count<wire::stop>() == 1);
}

TEST_CASE("a welcome waits for the journal, a heartbeat's answer does not", "[core]") {
  world w;
  w.worker_joins();
  CHECK(w.edges.count<wire::welcome>() == 0);
  w.commit();
  CHECK(w.edges.count<wire::welcome>() == 1);
  w.create(); // uncommitted from here on
  w.c->frame("route", w.key, {w.session, 0, 1, wire::heartbeat{1, 1}}, w.now);
  CHECK(w.edges.count<wire::lease_granted>() == 1);
  CHECK(w.edges.count<wire::start>() == 0);
}

TEST_CASE("a cancel follows an uncommitted start on the same channel and is answered when fenced", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.create();
  w.cancel();
  CHECK_FALSE(*w.cancel_answer);
  w.commit();
  REQUIRE(*w.cancel_answer);
  CHECK((**w.cancel_answer)->record.durable);
  CHECK((**w.cancel_answer)->record.report.fenced_ms.has_value());
  REQUIRE(w.edges.count<wire::start>() == 1);
  REQUIRE(w.edges.count<wire::stop>() == 1);
  std::vector<std::string> order;
  for (const auto& m : w.edges.sent) {
    if (std::holds_alternative<wire::start>(m)) order.push_back("start");
    if (std::holds_alternative<wire::stop>(m)) order.push_back("stop");
  }
  CHECK(order == std::vector<std::string>{"start", "stop"});
}

TEST_CASE("a question is answered at once if nothing waits for the disk, and else behind what waits", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.c->end_burst(w.now);
  w.commit();
  int answers = 0;
  const auto what = [&answers](const commit_gate&, moment) -> std::function<void()> { return [&answers] { ++answers; }; };
  w.c->ask(what, w.now);
  CHECK(answers == 1);
  w.create(); // uncommitted from here on: it shows in the answer
  w.c->ask(what, w.now);
  w.c->end_burst(w.now);
  CHECK(answers == 1);
  w.commit();
  CHECK(answers == 2);
}

TEST_CASE("old rows are dropped only while nothing waits for the disk, and never before a cancel") {
  world w;
  w.c->end_burst(w.now); // the recovered cancel is rolled out
  w.commit();
  REQUIRE(!w.drop_old());
  REQUIRE(std::holds_alternative<records::drop_operation>(w.edges.batches.back().front()));
  w.commit();
  CHECK(*w.drop_answer == true);

  w.create();
  CHECK(w.drop_old() == false); // the create is not committed yet
  CHECK(!w.drop_old(true));     // a load without a pause must not keep them forever
  w.commit();
  CHECK(*w.drop_answer == true);

  w.cancel();
  CHECK(w.drop_old() == false);
  CHECK(w.drop_old(true) == false);
  w.commit();
  CHECK(!w.drop_old());
}

TEST_CASE("after a stall no owner's lease is over, whatever message comes first", "[core]") {
  world w;
  auto answer = std::make_shared<std::optional<outcome<created>>>();
  create_order o;
  o.by.role = role::admin;
  o.kind = kind::external;
  o.scope = *scope_path::parse("a");
  o.external.lease = 2s;
  w.c->execute({commands::create_operation{std::move(o), operation_id::fresh()},
                [answer](outcome<created> a) { *answer = std::move(a); }},
               w.now);
  w.c->end_burst(w.now);
  w.commit();
  REQUIRE(*answer);
  const auto id = (*answer)->value().id;
  const auto pass = [&](std::chrono::milliseconds time) {
    w.now.wall = w.now.wall + time;
    w.now.boot = w.now.boot + time;
  };
  const auto is_over = [&] {
    const auto view = w.c->beyond_disk(id, w.now);
    return !view || is_terminal(view->now);
  };
  pass(7s); // the process did not run
  w.c->end_burst(w.now);
  w.commit();
  CHECK_FALSE(is_over());
  for (int i = 0; i < 40 && !is_over(); ++i) { // and now it runs
    pass(1s);
    w.c->tick(w.now);
    w.commit();
  }
  CHECK(is_over());
}

TEST_CASE("a forbidden move is named with its asker, and ends its operation, not the process", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.create();
  w.commit();
  REQUIRE(w.edges.count<wire::start>() == 1);
  wire::task_ended end; // a good exit of something that, by the same report, never started
  end.operation = (*w.created_answer)->value().id;
  end.exit.emplace();
  end.ended_at = w.now.wall;
  w.c->frame("route", w.key, {w.session, 1, 0, end}, w.now);
  w.c->end_burst(w.now);
  w.commit();
  CHECK(w.edges.forbidden == std::vector<std::string>{"pending>completed by a frame of a worker"});
  CHECK(w.edges.ends[end.operation] == 1);
  CHECK(std::find(w.edges.published.begin(), w.edges.published.end(), "operation_failed") != w.edges.published.end());
  CHECK_FALSE(w.edges.failure);
}
