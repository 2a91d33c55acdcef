// Accepted and refused hellos, and frames of other sessions.
#include <catch2/catch.hpp>

#include "tests/controller/fleet/fleet_world.hpp"

using namespace quell;
using namespace quell::controller::test;

TEST_CASE("a worker that joins is welcomed with frame 1 and reconciled once") {
  fleet_world c;
  auto& w = c.worker_joins("w1", 4);
  REQUIRE(w.all<wire::welcome>().size() == 1);
  const auto welcome = w.all<wire::welcome>().front();
  CHECK(welcome.worker == "w1");
  CHECK(welcome.epoch == c.epoch);
  CHECK(welcome.cluster == c.cluster);
  CHECK(c.ledger.reconciled.size() == 1);
  CHECK_FALSE(c.ledger.reconciled.front().same_life);
  CHECK(c.status_of("w1") == "ready");
  CHECK(c.see("w1").record.slots == 4);
  CHECK(c.event_count("worker_joined") == 1);
  CHECK(c.f->session_of_key(key_of("w1")) == w.session());
  CHECK(c.f->name_of_route(w.route) == "w1");
}

TEST_CASE("the lease is in the worker's row before its welcome leaves") {
  fleet_world c;
  c.enrolled("w1");
  auto h = c.hello_of("w1", 2);
  h.proposed = id_of<session_id>(1);
  c.f->frame("r", key_of("w1"), {h.proposed, 0, 0, h}, c.now);
  const auto effects = c.f->take();
  REQUIRE(effects.urgent.empty());
  REQUIRE(effects.ordered.size() == 1);
  REQUIRE(effects.journal.size() == 1);
  CHECK(std::get<records::put_worker>(effects.journal.front()).record.lease == c.settings.lease);
}

TEST_CASE("a repeated hello gets the same welcome and is not reconciled twice") {
  fleet_world c;
  c.enrolled("w1");
  auto& w = c.says_hello("w1", c.hello_of("w1", 2));
  const auto before = c.history.size();
  c.repeats_hello("w1");
  c.repeats_hello("w1");
  CHECK(c.ledger.reconciled.size() == 1);
  CHECK(c.event_count("worker_joined") == 1);
  REQUIRE(c.history.size() == before + 2);
  CHECK(c.history.back().frame.number == 1);
  CHECK(std::get<wire::welcome>(c.history.back().frame.body) == w.all<wire::welcome>().front());
  CHECK(w.all<wire::welcome>().size() == 1);
}

TEST_CASE("a hello that comes late, after its own session is under way, is not answered") {
  fleet_world c;
  c.worker_joins("w1");
  const auto before = c.history.size();
  c.repeats_hello("w1");
  CHECK(c.history.size() == before);
  CHECK(c.ledger.reconciled.size() == 1);
}

TEST_CASE("a restart of the same state directory is taken at once, and its old session is over") {
  fleet_world c;
  const auto old = c.worker_joins("w1");
  auto h = c.hello_of("w1", 2);
  h.incarnation = id_of<incarnation_id>(101);
  auto& w = c.says_hello("w1", h);
  CHECK(w.refusals.empty());
  CHECK(c.f->session_of_key(key_of("w1")) == w.session());
  REQUIRE(c.ledger.reconciled.size() == 2);
  CHECK_FALSE(c.ledger.reconciled.back().same_life);
  CHECK_FALSE(c.f->name_of_route(old.route));
}

TEST_CASE("a late hello of an earlier life is refused whatever its wall clock said") {
  fleet_world c;
  const auto as_life = [&](std::uint64_t life) {
    auto h = c.hello_of("w1", 2);
    h.incarnation = id_of<incarnation_id>(100 + life);
    h.life = life;
    return h;
  };
  c.worker_joins("w1");
  c.says_hello("w1", as_life(1));
  const auto late = as_life(2); // that life never had a session, and its wall clock was ahead
  auto& third = c.says_hello("w1", as_life(3));
  CHECK(third.refusals.empty());
  const auto session = third.session();
  const auto reconciled = c.ledger.reconciled.size();
  CHECK(c.says_hello("w1", late, "-late").refusals.size() == 1);
  CHECK(c.ledger.reconciled.size() == reconciled);
  CHECK(c.f->session_of_key(key_of("w1")) == session);
}

TEST_CASE("a reconnect of the same process is the same life") {
  fleet_world c;
  c.worker_joins("w1");
  c.worker_joins("w1");
  REQUIRE(c.ledger.reconciled.size() == 2);
  CHECK(c.ledger.reconciled.back().same_life);
}

TEST_CASE("a second holder of the key elsewhere waits until the first one's lease is over") {
  fleet_world c;
  auto& first = c.worker_joins("w1");
  auto elsewhere = c.hello_of("w1", 2);
  elsewhere.state_id = "copied";
  elsewhere.boot_id = "other-machine";
  auto& second = c.says_hello("w1", elsewhere, "-copy");
  REQUIRE(second.refusals.size() == 1);
  CHECK(second.refusals.front().code == "lease_held");
  CHECK(c.f->session_of_key(key_of("w1")) == first.session());
  const auto wait = second.refusals.front().retry_after;
  CHECK(wait > 0ms);

  SECTION("and is refused as long as the first one lives") {
    c.life_goes_on(60s, {"w1"});
    CHECK(c.says_hello("w1", elsewhere, "-copy").refusals.size() == 1);
  }
  SECTION("and is taken after exactly that wait when the first one is silent") {
    c.pass(wait - 5ms);
    CHECK(c.says_hello("w1", elsewhere, "-copy").refusals.size() == 1);
    c.pass(5ms);
    CHECK(c.says_hello("w1", elsewhere, "-copy").refusals.empty());
    CHECK(c.event_count("worker_lost") == 1);
    CHECK(c.status_of("w1") == "ready");
  }
  SECTION("also when the controller restarts in between") {
    c.restart();
    auto& again = c.says_hello("w1", elsewhere, "-copy");
    REQUIRE(again.refusals.size() == 1);
    CHECK(again.refusals.front().code == "lease_held");
  }
}

TEST_CASE("a holder elsewhere also waits for tasks with a longer lease, a reboot of the same directory does not") {
  fleet_world c;
  c.worker_joins("w1");
  const auto task = c.placed(c.needs(), 60s);
  REQUIRE(c.where(task) == "w1");
  c.silence(13s);
  REQUIRE(c.status_of("w1") == "lost");
  auto h = c.hello_of("w1", 2);
  h.boot_id = "after-reboot";
  SECTION("another directory") {
    h.state_id = "copied";
    CHECK(c.says_hello("w1", h, "-copy").refusals.size() == 1);
    SECTION("until they are due") {
      c.silence(50s);
      CHECK(c.ledger.expired.size() == 1);
      CHECK(c.says_hello("w1", h, "-copy").refusals.empty());
    }
    SECTION("or declared dead by an admin") {
      c.ledger.finish(task);
      CHECK(c.says_hello("w1", h, "-copy").refusals.empty());
    }
  }
  SECTION("the same directory") { CHECK(c.says_hello("w1", h).refusals.empty()); }
}

TEST_CASE("a hello older than the live session is history, not news") {
  fleet_world c;
  auto late = c.hello_of("w1", 2);
  late.proposed = session_id{make_uuid7(c.now.wall, {9})};
  c.pass(3s);
  auto& w = c.worker_joins("w1");
  c.f->frame("late-route", key_of("w1"), {late.proposed, 0, 0, late}, c.now);
  c.settle();
  CHECK(c.f->session_of_key(key_of("w1")) == w.session());
  CHECK(c.ledger.reconciled.size() == 1);
  CHECK(std::get<wire::refuse>(c.history.back().frame.body).code == "lease_held");
}

TEST_CASE("a late hello is history as long as a task with a longer lease may run there") {
  fleet_world c;
  auto late = c.hello_of("w1", 2);
  late.proposed = session_id{make_uuid7(c.now.wall, {9})};
  c.pass(3s);
  c.worker_joins("w1");
  const auto task = c.placed(c.needs(), 60s);
  REQUIRE(c.where(task) == "w1");
  c.silence(13s);
  REQUIRE(c.status_of("w1") == "lost");
  c.f->frame("late-route", key_of("w1"), {late.proposed, 0, 0, late}, c.now);
  c.settle();
  CHECK(c.ledger.reconciled.size() == 1); // its inventory does not list the task, which is live
  CHECK(std::get<wire::refuse>(c.history.back().frame.body).code == "lease_held");
}

TEST_CASE(
    "a copy of the hello of a session that is over is history as long as a task with a longer lease may run there") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  auto copy = c.hello_of("w1", 2);
  copy.proposed = w.session();
  const auto task = c.placed(c.needs(), 60s);
  REQUIRE(c.where(task) == "w1");
  c.silence(13s);
  REQUIRE(c.status_of("w1") == "lost");
  c.f->frame("late-route", key_of("w1"), {copy.proposed, 0, 0, copy}, c.now);
  c.settle();
  CHECK(c.ledger.reconciled.size() == 1);
  CHECK(std::get<wire::refuse>(c.history.back().frame.body).code == "lease_held");
}

TEST_CASE("a key that is not enrolled is told so and may come again") {
  fleet_world c;
  auto& w = c.says_hello("stranger", c.hello_of("stranger", 2));
  REQUIRE(w.refusals.size() == 1);
  CHECK(w.refusals.front().code == "not_enrolled");
  CHECK(w.refusals.front().retry_after == 2s);
}

TEST_CASE("another version is refused with both versions and which side to upgrade") {
  fleet_world c;
  c.enrolled("w1");
  c.f->unsupported_version("r", key_of("w1"), wire::protocol_version + 1, c.now);
  auto newer = std::get<wire::refuse>(c.f->take().urgent.at(0).frame.body);
  CHECK(newer.code == "unsupported_version");
  CHECK(newer.message.find("upgrade the controller") != std::string::npos);
  CHECK(newer.message.find(std::to_string(wire::protocol_version + 1)) != std::string::npos);
  CHECK(newer.retry_after > 0ms);
  c.f->unsupported_version("r", key_of("w1"), 0, c.now);
  auto older = std::get<wire::refuse>(c.f->take().urgent.at(0).frame.body);
  CHECK(older.message.find("upgrade the worker") != std::string::npos);
  CHECK(older.retry_after == 0ms);
}

TEST_CASE("a worker of another cluster, or one that has seen more than this controller, is refused") {
  fleet_world c;
  c.enrolled("w1");
  auto h = c.hello_of("w1", 2);
  SECTION("another cluster") {
    h.cluster = id_of<cluster_id>(8);
    CHECK(c.says_hello("w1", h).refusals.at(0).code == "other_cluster");
  }
  SECTION("a later epoch") {
    h.epoch_seen = c.epoch + 1;
    const auto refusal = c.says_hello("w1", h).refusals.at(0);
    CHECK(refusal.code == "old_epoch");
    CHECK(refusal.message.find("--restored") != std::string::npos);
  }
  SECTION("a later seq") {
    h.seq_seen = c.ledger.seq + 1;
    CHECK(c.says_hello("w1", h).refusals.at(0).code == "old_epoch");
  }
  CHECK(c.ledger.reconciled.empty());
  CHECK(c.status_of("w1") == "enrolled");
}

TEST_CASE("frames of another session or connection are dropped unread, a heartbeat among them is told so") {
  fleet_world c;
  const auto old = c.worker_joins("w1");
  auto& w = c.worker_joins("w1");
  wire::task_ended ended;
  c.f->frame(old.route, old.key, {old.session(), 1, 0, ended}, c.now);
  c.f->frame(old.route, old.key, {w.session(), 1, 0, ended}, c.now); // right session, wrong connection
  c.f->frame(w.route, w.key, {old.session(), 1, 0, ended}, c.now);
  CHECK(c.ledger.reports.empty());
  CHECK(c.f->take().urgent.empty());
  c.f->frame(old.route, old.key, {old.session(), 0, 0, wire::worker_heartbeat{3, 1}}, c.now);
  const auto effects = c.f->take();
  REQUIRE(effects.urgent.size() == 1);
  CHECK(effects.urgent.front().route == old.route);
  CHECK(effects.urgent.front().frame.session == old.session());
  CHECK(std::get<wire::refuse>(effects.urgent.front().frame.body).code == "session_over");
  CHECK(c.f->session_of_key(key_of("w1")) == w.session());
}

TEST_CASE("a farewell empties the worker at once and frees its key") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  c.says("w1", wire::farewell{"stopped by its admin"});
  c.settle();
  CHECK_FALSE(c.f->session_of_key(key_of("w1")));
  REQUIRE(c.ledger.reconciled.size() == 2);
  CHECK(c.ledger.reconciled.back().greeting.inventory.empty());
  CHECK(c.ledger.reconciled.back().greeting.incarnation == w.hello.incarnation);
  CHECK(c.status_of("w1") == "unreachable");
  auto elsewhere = c.hello_of("w1", 2);
  elsewhere.state_id = elsewhere.boot_id = "another";
  SECTION("another machine may take it") { CHECK(c.says_hello("w1", elsewhere, "-new").refusals.empty()); }
  SECTION("it is lost when its lease would have been over") {
    c.silence(12s);
    CHECK(c.status_of("w1") == "lost");
  }
}

TEST_CASE("an acknowledgement of what was never sent ends the session with a word") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  c.f->frame(w.route, w.key, {w.session(), 0, 99, wire::acknowledge{}}, c.now);
  c.settle();
  CHECK_FALSE(c.f->session_of_key(key_of("w1")));
  REQUIRE(w.refusals.size() == 1);
  CHECK(w.refusals.front().code == "session_over");
  CHECK(w.refusals.front().retry_after > 0ms);
  CHECK(c.status_of("w1") == "unreachable");
  c.worker_joins("w1");
  CHECK(c.status_of("w1") == "ready");
}

TEST_CASE("what a hello may claim is bounded") {
  fleet_world c;
  c.enrolled("w1", {{"os", "linux"}});
  auto h = c.hello_of("w1", 4'000'000'000u);
  for (int i = 0; i < 100; ++i) h.labels["l" + std::to_string(i)] = "v";
  h.labels["os"] = "lies";
  h.software = std::string(10'000, 'x');
  c.says_hello("w1", h);
  const auto row = c.rows.at("w1");
  CHECK(row.labels.size() <= 64);
  CHECK(row.version.size() <= 128);
  CHECK(row.slots <= 1'000'000);
  CHECK(c.see("w1").record.labels.at("os") == "linux"); // the enrolled labels win
}
