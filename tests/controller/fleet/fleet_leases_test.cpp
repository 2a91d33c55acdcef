// Silence, leases and their ends, on both sides of the wire.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "tests/controller/fleet/fleet_world.hpp"

using namespace quell;
using namespace quell::controller::test;

TEST_CASE("a worker that beats keeps its lease for ever") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  c.life_goes_on(120s, {"w1"});
  CHECK(w.grants.size() == 120);
  CHECK(c.status_of("w1") == "ready");
  CHECK_FALSE(w.lease.over(c.now.boot));
}

TEST_CASE("three silent heartbeats make a worker unreachable, with the instant until which its work may live") {
  fleet_world c;
  c.worker_joins("w1");
  const auto last_word = c.now;
  c.silence(2900ms);
  CHECK(c.status_of("w1") == "ready");
  c.silence(200ms);
  CHECK(c.status_of("w1") == "unreachable");
  CHECK(c.event_count("worker_unreachable") == 1);
  CHECK(c.ledger.reachability_news == std::vector<std::string>{"w1"});
  const auto view = c.see("w1");
  CHECK(view.unreachable_since == last_word.wall);
  REQUIRE(view.dead_by);
  CHECK(*view.dead_by > last_word.wall + 10s);
  CHECK(*view.dead_by < last_word.wall + 12s);
  const auto reach = c.f->reach("w1");
  CHECK_FALSE(reach.reachable);
  CHECK(reach.since == last_word.wall);
  CHECK(reach.dead_by(std::nullopt) == view.dead_by);
  CHECK(*reach.dead_by(60s) > last_word.wall + 60s);
  SECTION("it is ready again when it speaks") {
    c.beats("w1");
    CHECK(c.status_of("w1") == "ready");
    CHECK(c.f->reach("w1").reachable);
    CHECK(c.ledger.reachability_news.size() == 2);
    CHECK(c.event_count("worker_joined") == 2);
  }
}

TEST_CASE("past its dead-by a silent worker is lost, and its tasks as each one's lease ends") {
  fleet_world c;
  c.worker_joins("w1", 4);
  const auto plain = c.placed(c.needs());
  const auto longer = c.placed(c.needs(), 60s);
  c.acknowledges("w1");
  c.silence(11s);
  CHECK(c.status_of("w1") == "unreachable");
  CHECK(c.ledger.expired.empty());
  c.silence(200ms);
  CHECK(c.status_of("w1") == "lost");
  CHECK(c.rows.at("w1").lost);
  CHECK(c.event_count("worker_lost") == 1);
  REQUIRE(c.ledger.expired.size() == 1);
  CHECK(c.ledger.expired.front().first == plain);
  CHECK(c.ledger.lease_questions == 1);
  c.silence(48s, 500ms);
  CHECK(c.ledger.lease_questions == 1); // all its tasks are looked at again when the next lease is over, not each tick
  c.silence(3s, 500ms);
  REQUIRE(c.ledger.expired.size() == 2);
  CHECK(c.ledger.expired.back().first == longer);
  c.silence(60s, 1s);
  CHECK(c.event_count("worker_lost") == 1);
  CHECK_FALSE(c.f->tick(c.now));
}

TEST_CASE("a tick says when it next wants to be called, and is right") {
  fleet_world c;
  c.worker_joins("w1", 4);
  c.placed(c.needs(), 60s);
  c.acknowledges("w1");
  std::vector<std::string> seen;
  for (int i = 0; i < 20; ++i) {
    const auto next = c.f->tick(c.now);
    if (!next) break;
    if (*next > c.now.boot) c.pass(*next - c.now.boot);
    c.f->tick(c.now);
    c.take();
    seen.push_back(c.status_of("w1"));
  }
  CHECK(seen.at(0) == "unreachable");
  CHECK(seen.at(1) == "lost");
  CHECK(seen.size() == 3);
  CHECK(c.ledger.expired.size() == 1);
}

TEST_CASE("a word that comes after the dead-by changes nothing, even if no tick came in between") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  const auto task = c.placed(c.needs());
  c.pass(12s);
  wire::task_ended end;
  end.operation = task;
  c.reports("w1", end);
  CHECK(c.ledger.reports.empty());
  CHECK(c.ledger.expired.size() == 1);
  CHECK(c.status_of("w1") == "lost");
  CHECK(w.refusals.size() == 1);
  SECTION("and its next hello is taken") {
    c.worker_joins("w1");
    CHECK(c.status_of("w1") == "ready");
    CHECK_FALSE(c.rows.at("w1").lost);
  }
}

TEST_CASE("a worker that beats but applies nothing for a lease is not renewed") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  c.life_goes_on(30s, {"w1"});
  w.stuck = true;
  c.stops({"w1"}, 41);
  c.deliver();
  const auto before = w.grants.size();
  c.life_goes_on(9s, {"w1"});
  CHECK(w.grants.size() == before + 9);
  c.life_goes_on(8s, {"w1"});
  CHECK(w.grants.size() == before + 9);
  SECTION("and is lost in the end") {
    c.life_goes_on(6s, {"w1"});
    CHECK(c.status_of("w1") == "lost");
  }
  SECTION("and is renewed when it moves again") {
    w.stuck = false;
    c.life_goes_on(2s, {"w1"});
    CHECK(w.grants.size() > before + 9);
    CHECK(c.ledger.applied.size() == 1);
  }
}

TEST_CASE("a frame that a slow disk holds back costs no lease once departures are told") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  c.f->frame_left(w.route, 1, c.now);
  c.stops({"w1"}, 41); // sent, but not delivered
  const auto held = c.history.size();
  for (int i = 0; i < 30; ++i) {
    c.pass(1s);
    w.lease.sent(++w.beats, c.now.boot);
    c.says("w1", wire::worker_heartbeat{w.beats, w.receiver.ack()});
    c.f->tick(c.now);
    c.take();
  }
  CHECK(w.grants.size() == 30);
  for (auto at = held; at < c.history.size(); ++at) CHECK(c.history[at].frame.number == 0); // and it is not sent again
  c.deliver();
  c.f->frame_left(w.route, 2, c.now);
  c.beats("w1");
  CHECK(c.ledger.applied.size() == 1);
}

TEST_CASE("after a restart of the controller a worker is unreachable until it says hello, and dead by a full lease "
          "from then") {
  fleet_world c;
  c.worker_joins("w1");
  c.placed(c.needs());
  c.enrolled("never");
  c.pass(5s);
  c.restart();
  CHECK(c.status_of("w1") == "unreachable");
  CHECK(c.status_of("never") == "enrolled");
  CHECK_FALSE(c.f->reach("w1").reachable);
  SECTION("it comes back as the same life") {
    c.worker_joins("w1");
    CHECK(c.status_of("w1") == "ready");
    CHECK(c.ledger.reconciled.back().same_life);
    CHECK(c.event_count("worker_unreachable") == 0);
  }
  SECTION("it stays away") {
    c.silence(11s);
    CHECK(c.event_count("worker_unreachable") == 1);
    CHECK(c.ledger.expired.empty());
    c.silence(200ms);
    CHECK(c.status_of("w1") == "lost");
    CHECK(c.ledger.expired.size() == 1);
  }
  SECTION("it may be asked for old frames") {
    c.beats("w1");
    CHECK(c.far.at("w1").refusals.back().code == "session_over");
  }
}

TEST_CASE("a lost worker's longer tasks are still settled after a restart of the controller") {
  fleet_world c;
  c.worker_joins("w1");
  c.placed(c.needs(), 60s);
  c.silence(12s);
  REQUIRE(c.status_of("w1") == "lost");
  c.restart();
  CHECK(c.status_of("w1") == "lost");
  c.silence(60s);
  CHECK(c.ledger.expired.empty());
  c.silence(2s);
  CHECK(c.ledger.expired.size() == 1);
  CHECK(c.event_count("worker_lost") == 1);
}

TEST_CASE("a handover lets workers live on for its whole length across a restart") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  c.worker_joins("w2");
  c.f->hand_over(c.now);
  const auto effects = c.f->take();
  REQUIRE(effects.ordered.size() == 2);
  CHECK(std::get<wire::handover>(effects.ordered.front().frame.body).lease == 60s);
  CHECK(effects.journal.size() == 2);
  CHECK(std::get<records::put_worker>(effects.journal.front()).record.lease == 60s);
  for (const auto& row : effects.journal) {
    const auto& record = std::get<records::put_worker>(row).record;
    c.rows[record.name] = record;
  }
  const auto grants = w.grants.size();
  c.beats("w1"); // a grant would shorten it
  CHECK(w.grants.size() == grants);
  CHECK_FALSE(c.f->place(c.now));
  c.restart();
  c.silence(59s, 500ms);
  CHECK(c.status_of("w1") == "unreachable");
  SECTION("when the worker has the new session's welcome the long lease is void") {
    c.worker_joins("w1");
    CHECK(c.rows.at("w1").lease == 10s);
    c.silence(12s);
    CHECK(c.status_of("w1") == "lost");
  }
  SECTION("it ends when it ends") {
    c.silence(3s);
    CHECK(c.status_of("w1") == "lost");
  }
}

TEST_CASE("whatever is lost or late, the worker's lease ends before the controller takes its work for dead") {
  REQUIRE(rc::check([] {
    fleet_world c;
    c.settings.lease = milliseconds(*rc::gen::inRange(1000, 20'000));
    c.settings.heartbeat = c.settings.lease / 10;
    c.start();
    auto& w = c.worker_joins("w1", 4);
    const auto task_lease = milliseconds(*rc::gen::inRange(500, 60'000));
    c.placed(c.needs());
    c.placed(c.needs(), task_lease);
    const int steps = *rc::gen::inRange(1, 40);
    for (int i = 0; i < steps; ++i) {
      w.deaf = *rc::gen::inRange(0, 3) == 0; // the answer is lost
      c.pass(milliseconds(*rc::gen::inRange(1, 1500)));
      if (*rc::gen::inRange(0, 4) != 0) c.beats("w1");
      if (*rc::gen::inRange(0, 20) == 0) c.restart();
      c.f->tick(c.now);
      c.settle();
      const auto seen = c.f->reach("w1");
      const auto end = w.lease.end(), longer = w.lease.end(task_lease);
      if (end) RC_ASSERT(c.now.wall_at(*end) < seen.dead_by(std::nullopt).value());
      if (longer) RC_ASSERT(c.now.wall_at(*longer) < seen.dead_by(task_lease).value());
    }
    w.deaf = true;
    const auto end = w.lease.end().value();
    while (c.ledger.expired.empty()) {
      c.pass(100ms);
      c.f->tick(c.now);
      c.take();
      if (!c.ledger.expired.empty()) RC_ASSERT(c.now.boot > end);
    }
  }));
}

TEST_CASE("a handover's long lease is void as soon as the next session's welcome is acknowledged, not before") {
  fleet_world c;
  c.worker_joins("w1");
  c.f->hand_over(c.now);
  c.settle();
  c.restart();
  c.says_hello("w1", c.hello_of("w1", 2));
  CHECK(c.rows.at("w1").lease == 60s);
  SECTION("before") {
    c.silence(50s, 500ms);
    CHECK(c.status_of("w1") == "unreachable");
  }
  SECTION("after") {
    c.acknowledges("w1");
    CHECK(c.rows.at("w1").lease == 10s);
    c.silence(12s);
    CHECK(c.status_of("w1") == "lost");
  }
}
