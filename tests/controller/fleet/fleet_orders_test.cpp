// Enrolling, draining, resuming and removing workers.
#include <catch2/catch.hpp>

#include "tests/controller/fleet/fleet_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;

TEST_CASE("an enrolled key may connect, and stands in the store") {
  fleet_world c;
  CHECK(c.keys.empty());
  c.enrolled("w1");
  c.enrolled("w2");
  CHECK(c.keys == std::vector<std::string>{key_of("w1"), key_of("w2")});
  CHECK(c.rows.size() == 2);
  CHECK(c.status_of("w1") == "enrolled");
  CHECK(c.f->name_of_key(key_of("w2")) == "w2");
  CHECK(c.f->workers(c.now).size() == 2);
  c.restart();
  CHECK(c.keys.size() == 2); // the socket gets the keys at each start
  CHECK_FALSE(c.f->tick(c.now));
}

TEST_CASE("a bad name, key or label is refused with the field, a used one as a conflict") {
  fleet_world c;
  c.enrolled("w1");
  const auto refused = [&](const std::string& name, const std::string& key,
                           std::map<std::string, std::string> labels = {}) {
    const auto r = c.f->enrol(name, key, std::move(labels), c.now);
    return r ? std::string("taken") : r.error().code + " " + r.error().pointer;
  };
  CHECK(refused("", key_of("x")) == "invalid_field /name");
  CHECK(refused("a b", key_of("x")) == "invalid_field /name");
  CHECK(refused(std::string(65, 'a'), key_of("x")) == "invalid_field /name");
  CHECK(refused("w2", "short") == "invalid_field /key");
  CHECK(refused("w2", key_of("x"), {{"", "v"}}) == "invalid_field /labels");
  CHECK(refused("w1", key_of("x")) == "id_conflict /name");
  CHECK(refused("w2", key_of("w1")) == "id_conflict /key");
  CHECK(refused(std::string(64, 'a'), key_of("A.z_0-9")) == "taken");
}

TEST_CASE("the number of workers is limited") {
  fleet_world c;
  c.settings.max_workers = 2;
  c.start();
  c.enrolled("w1");
  c.enrolled("w2");
  CHECK(c.f->enrol("w3", key_of("w3"), {}, c.now).error().code == "invalid_field");
}

TEST_CASE("a drained worker finishes what it has and takes no more until it is resumed") {
  fleet_world c;
  c.worker_joins("w1");
  const auto running = c.placed(c.needs());
  const auto view = c.f->drain("w1", "kernel update", {}, worker_tasks::go_on, c.now);
  REQUIRE(view);
  CHECK(view->status == worker_status::draining);
  CHECK(view->record.drain->reason == "kernel update");
  c.settle();
  CHECK(c.event_count("worker_draining") == 1);
  CHECK(c.ledger.stopped_workers.empty());
  const auto waits = c.placed(c.needs());
  CHECK(c.ledger.tasks.at(waits).detail == "every worker that could take it is draining");
  c.life_goes_on(60s, {"w1"});
  CHECK(c.ledger.stopped_workers.empty());
  CHECK(c.where(running) == "w1");
  c.restart();
  c.worker_joins("w1");
  CHECK(c.status_of("w1") == "draining");
  c.f->enqueue(c.needs(), {waits}); // as the ledger does with pending tasks
  c.place();
  CHECK_FALSE(c.where(waits));
  REQUIRE(c.f->resume("w1", c.now));
  c.place();
  CHECK(c.where(waits) == "w1");
  CHECK_FALSE(c.rows.at("w1").drain);
}

TEST_CASE("a drain's deadline stops the work once, also across a restart") {
  fleet_world c;
  c.worker_joins("w1");
  c.placed(c.needs());
  REQUIRE(c.f->drain("w1", "", 5s, worker_tasks::go_on, c.now));
  c.settle();
  SECTION("in one life") {}
  SECTION("across a restart") {
    c.pass(2s);
    c.restart();
    c.worker_joins("w1");
    c.pass(-2s);
  }
  c.life_goes_on(4s, {"w1"});
  CHECK(c.ledger.stopped_workers.empty());
  c.life_goes_on(5s, {"w1"});
  using stopped = std::vector<std::pair<std::string, stop_cause>>;
  CHECK(c.ledger.stopped_workers == stopped{{"w1", stop_cause::drain}});
}

TEST_CASE("a drain with cancel stops the work at once, and a resume forgets the deadline") {
  fleet_world c;
  c.worker_joins("w1");
  REQUIRE(c.f->drain("w1", "", 5s, worker_tasks::are_cancelled, c.now));
  CHECK(c.ledger.stopped_workers.size() == 1);
  REQUIRE(c.f->drain("w1", "again", 5s, worker_tasks::go_on, c.now));
  REQUIRE(c.f->resume("w1", c.now));
  c.life_goes_on(10s, {"w1"});
  CHECK(c.ledger.stopped_workers.size() == 1);
  CHECK(c.f->drain("w9", "", {}, worker_tasks::go_on, c.now).error().code == "worker_not_found");
  CHECK(c.f->resume("w9", c.now).error().code == "worker_not_found");
}

TEST_CASE("a worker without work is removed at once: refused, forgotten, its key shut out") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  REQUIRE(c.f->remove("w1", worker_tasks::go_on, c.now));
  c.settle();
  REQUIRE(w.refusals.size() == 1);
  CHECK(w.refusals.front().code == "removed");
  CHECK(w.refusals.front().retry_after == 0ms);
  CHECK(c.keys.empty());
  CHECK(c.rows.empty());
  CHECK_FALSE(c.f->knows("w1"));
  CHECK(c.event_count("worker_removed") == 1);
  c.beats("w1");
  CHECK(w.refusals.back().code == "not_enrolled");
  CHECK(c.f->remove("w1", worker_tasks::go_on, c.now).error().code == "worker_not_found");
  SECTION("its name and key may be enrolled anew") {
    c.worker_joins("w1");
    CHECK(c.status_of("w1") == "ready");
    CHECK(c.where(c.placed(c.needs())) == "w1");
  }
}

TEST_CASE("a worker with work is busy, or goes when its work is stopped") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  const auto running = c.placed(c.needs());
  const auto busy = c.f->remove("w1", worker_tasks::go_on, c.now);
  REQUIRE_FALSE(busy);
  CHECK(busy.error().code == "worker_busy");
  REQUIRE(c.f->remove("w1", worker_tasks::are_cancelled, c.now));
  c.settle();
  CHECK(c.ledger.stopped_workers.size() == 1);
  CHECK(c.f->knows("w1"));
  CHECK(c.status_of("w1") == "draining");
  CHECK(c.rows.at("w1").drain);
  CHECK(w.refusals.empty());
  CHECK(c.f->resume("w1", c.now).error().code == "worker_busy");
  CHECK(c.f->enrol("w1", key_of("other"), {}, c.now).error().code == "id_conflict");
  wire::task_ended ended;
  ended.operation = running;
  c.reports("w1", ended);
  CHECK_FALSE(c.f->knows("w1"));
  CHECK(w.refusals.size() == 1);
  CHECK(c.event_count("worker_removed") == 1);
}

TEST_CASE("a lost worker may be removed; it goes when the lease has settled its work") {
  fleet_world c;
  c.worker_joins("w1");
  c.placed(c.needs(), 30s);
  c.silence(12s);
  REQUIRE(c.status_of("w1") == "lost");
  REQUIRE(c.f->remove("w1", worker_tasks::go_on, c.now));
  CHECK(c.ledger.stopped_workers.empty());
  CHECK(c.f->knows("w1"));
  c.silence(21s);
  CHECK_FALSE(c.f->knows("w1"));
  CHECK(c.ledger.expired.size() == 1);
}

TEST_CASE("tasks wait for a removed worker's name, and are told so") {
  fleet_world c;
  c.worker_joins("w1", 0);
  requirement need;
  need.worker = "w1";
  const auto id = c.placed(need);
  CHECK(c.ledger.tasks.at(id).detail == "worker w1 has 0 slots, the task needs 1");
  REQUIRE(c.f->remove("w1", worker_tasks::go_on, c.now));
  c.place();
  CHECK(c.ledger.tasks.at(id).detail == "no worker is called w1");
}

TEST_CASE("events of the fleet carry the worker as it was then") {
  fleet_world c;
  c.worker_joins("w1", 3, {{"os", "linux"}});
  const auto& joined = c.ledger.events.back();
  CHECK(joined.worker == "w1");
  CHECK(joined.data.find(R"("name":"w1","status":"ready","labels":{"os":"linux"},"slots":3)") != std::string::npos);
  CHECK(joined.data.find(R"("unreachable":null,"trouble":null,"rival":null,"drain":null)") != std::string::npos);
  c.silence(4s);
  CHECK(c.ledger.events.back().data.find(R"("unreachable":{"since_at":)") != std::string::npos);
}

TEST_CASE("those who wait for a worker are woken when it changes") {
  fleet_world c;
  c.enrolled("w1");
  REQUIRE(c.f->drain("w1", "", {}, worker_tasks::go_on, c.now));
  CHECK(c.f->take().workers_changed == std::vector<std::string>{"w1"});
  CHECK(c.f->take().empty());
}
