// The ordered channel of a session: acknowledged stops, resends, reports, results.
#include <catch2/catch.hpp>

#include "tests/controller/fleet/fleet_world.hpp"

using namespace quell;
using namespace quell::controller::test;

TEST_CASE("a stop is reported as applied exactly once, when its frame is acknowledged") {
  fleet_world c;
  c.worker_joins("w1");
  c.worker_joins("w2");
  c.stops({"w1", "w2"}, 41);
  c.stops({"w1"}, 42);
  CHECK(c.ledger.applied.empty());
  c.deliver();
  CHECK(c.ledger.applied.empty());
  c.acknowledges("w1");
  using applied = std::vector<std::pair<std::string, std::uint64_t>>;
  CHECK(c.ledger.applied == applied{{"w1", 41}, {"w1", 42}});
  c.acknowledges("w1");
  c.beats("w1");
  CHECK(c.ledger.applied.size() == 2);
  c.acknowledges("w2");
  CHECK(c.ledger.applied == applied{{"w1", 41}, {"w1", 42}, {"w2", 41}});
}

TEST_CASE("the same stop twice on one channel is applied twice") {
  fleet_world c;
  c.worker_joins("w1");
  c.stops({"w1"}, 41);
  c.stops({"w1"}, 41); // an earlier kill
  c.deliver();
  c.acknowledges("w1");
  CHECK(c.ledger.applied.size() == 2);
}

TEST_CASE("a lost stop is sent again after a second and at once when the worker sees a gap") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  w.deaf = true;
  c.stops({"w1"}, 41);
  c.deliver();
  w.deaf = false;
  SECTION("after a second") {
    c.silence(900ms);
    CHECK(w.all<wire::stop>().empty());
    c.silence(200ms);
  }
  SECTION("at once") {
    c.stops({"w1"}, 42);
    c.deliver();
    CHECK(w.all<wire::stop>().empty());
    c.says("w1", wire::acknowledge{true});
    c.settle();
    CHECK(w.all<wire::stop>().size() == 2);
  }
  REQUIRE_FALSE(w.all<wire::stop>().empty());
  CHECK(w.all<wire::stop>().front().seq == 41);
  c.acknowledges("w1");
  CHECK(c.ledger.applied.front().second == 41);
  const auto quiet = c.history.size();
  c.life_goes_on(5s, {"w1"});
  for (auto at = quiet; at < c.history.size(); ++at) CHECK(c.history[at].frame.number == 0);
}

TEST_CASE("a stop for a worker without a session waits for its next reconcile") {
  fleet_world c;
  c.enrolled("w1");
  const auto before = c.history.size();
  c.stops({"w1", "nobody"}, 41);
  CHECK(c.history.size() == before);
}

TEST_CASE("a stop of an earlier session is not taken for applied by an acknowledgement of the next") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  w.deaf = true;
  c.stops({"w1"}, 41);
  c.deliver();
  c.worker_joins("w1"); // acknowledges its welcome
  c.beats("w1");
  CHECK(c.ledger.applied.empty());
}

TEST_CASE("frames of a worker leave in the order in which they were made") {
  fleet_world c;
  auto& w = c.worker_joins("w1", 8);
  const auto a = c.queued(c.needs());
  c.f->place(c.now);
  c.stops({"w1"}, 41);
  const auto b = c.queued(c.needs());
  c.f->place(c.now);
  c.settle();
  REQUIRE(w.got.size() == 4);
  CHECK(std::get<wire::start>(w.got[1]).operation == a);
  CHECK(std::get<wire::start>(w.got[1]).token == "token-of-" + a.text());
  CHECK(std::get<wire::stop>(w.got[2]).seq == 41);
  CHECK(std::get<wire::start>(w.got[3]).operation == b);
}

TEST_CASE("reports reach the ledger once and in order, and a burst is acknowledged with one frame") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  wire::task_started started;
  for (int i = 0; i < 50; ++i) c.says("w1", started, ++w.sent);
  c.says("w1", wire::task_stopping{}, ++w.sent);
  c.says("w1", wire::task_unproven{}, ++w.sent);
  const auto before = c.history.size();
  c.settle();
  CHECK(c.ledger.reports.size() == 52);
  CHECK(c.ledger.reports.back() == "w1 unproven");
  CHECK(c.history.size() == before + 1);
  CHECK(w.controller_ack == 52);
  c.says("w1", started, 51); // a repeat
  c.settle();
  CHECK(c.ledger.reports.size() == 52);
  CHECK(c.history.size() == before + 2); // it is sent again
  c.settle();
  CHECK(c.history.size() == before + 2);
}

TEST_CASE("a gap in the worker's frames is asked for once a turn and nothing behind it is believed") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  c.says("w1", wire::task_started{}, 2);
  c.says("w1", wire::task_started{}, 3);
  c.settle();
  CHECK(c.ledger.reports.empty());
  REQUIRE(w.acknowledgements.size() == 1);
  CHECK(w.acknowledgements.front().resend);
  for (std::uint64_t n : {1, 2, 3}) c.says("w1", wire::task_started{}, n);
  c.settle();
  CHECK(c.ledger.reports.size() == 3);
}

TEST_CASE("an acknowledgement rides on a frame of the same turn if there is one") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  c.says("w1", wire::task_started{}, 1);
  c.stops({"w1"}, 41);
  c.settle();
  CHECK(w.acknowledgements.empty());
  CHECK(w.controller_ack == 1);
}

TEST_CASE("the acknowledgement of a start waits for another frame; that of a repeat or of another report does not") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  c.says("w1", wire::task_started{}, ++w.sent);
  c.settle();
  CHECK(w.acknowledgements.empty());
  CHECK(w.controller_ack == 0);
  SECTION("the answer to a heartbeat carries it") {
    c.beats("w1");
    CHECK(w.acknowledgements.empty());
    CHECK(w.controller_ack == 1);
  }
  SECTION("a repeat shows that nothing has") {
    c.says("w1", wire::task_started{}, 1);
    c.settle();
    CHECK(w.acknowledgements.size() == 1);
    CHECK(w.controller_ack == 1);
  }
  SECTION("a report that no frame answers") {
    c.says("w1", wire::task_stopping{}, ++w.sent);
    c.settle();
    CHECK(w.acknowledgements.size() == 1);
    CHECK(w.controller_ack == 2);
  }
}

TEST_CASE("a message that no worker sends ends the session when numbered and is unread when not") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  c.says("w1", wire::welcome{});
  c.settle();
  CHECK(c.f->session_of_key(key_of("w1")));
  c.says("w1", wire::welcome{}, 1);
  c.settle();
  CHECK_FALSE(c.f->session_of_key(key_of("w1")));
  CHECK(w.refusals.size() == 1);
}

TEST_CASE("stored results are batched into one frame a turn, and dropped without a session") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  for (std::uint64_t i = 1; i <= 30; ++i) c.f->result_stored("w1", id_of<operation_id>(i), c.now);
  c.f->result_stored("nobody", id_of<operation_id>(99), c.now);
  c.settle();
  REQUIRE(w.all<wire::results_stored>().size() == 1);
  CHECK(w.all<wire::results_stored>().front().operations.size() == 30);
  c.says("w1", wire::farewell{});
  c.settle();
  const auto before = c.history.size();
  c.f->result_stored("w1", id_of<operation_id>(1), c.now);
  c.settle();
  CHECK(c.history.size() == before);
}

TEST_CASE("too many unacknowledged frames end the session") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  w.deaf = true;
  wire::stop s;
  for (std::uint64_t i = 1; i <= 100'001; ++i) {
    s.seq = i;
    c.f->send_stop({{"w1"}, s}, c.now);
  }
  w.deaf = false;
  c.settle();
  CHECK_FALSE(c.f->session_of_key(key_of("w1")));
  REQUIRE_FALSE(w.refusals.empty());
  CHECK(w.refusals.back().code == "session_over");
}

TEST_CASE("the window size of a task goes to its worker, or is refused with a reason") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  const auto id = id_of<operation_id>(1);
  CHECK(c.f->resize(id, "w1", 50, 132, c.now));
  c.settle();
  REQUIRE(w.all<wire::resize>().size() == 1);
  CHECK(w.all<wire::resize>().front().columns == 132);
  CHECK(c.f->resize(id, "w1", 0, 132, c.now).error().pointer == "/rows");
  CHECK(c.f->resize(id, "w9", 50, 132, c.now).error().code == "worker_not_found");
  c.silence(4s);
  CHECK(c.f->resize(id, "w1", 50, 132, c.now).error().code == "not_ready");
}

TEST_CASE("a frame whose commit failed ends the session and is never sent again") {
  fleet_world c;
  auto& w = c.worker_joins("w1");
  c.queued(c.needs());
  c.f->place(c.now);
  c.take();
  REQUIRE(c.wire_ordered.size() == 1);
  c.wire_ordered.clear(); // the START is not delivered
  c.f->frame_withheld(w.route, c.now);
  c.settle();
  CHECK(w.refusals.back().code == "session_over");
  c.silence(5s);
  CHECK(w.all<wire::start>().empty());
  c.f->frame_withheld("a route that is gone", c.now);
  c.worker_joins("w1");
  CHECK(c.ledger.reconciled.back().same_life);
  CHECK(c.far.at("w1").all<wire::start>().empty());
}
