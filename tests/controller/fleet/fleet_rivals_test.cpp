// Two live processes with the key of one worker.
#include <catch2/catch.hpp>

#include "tests/controller/fleet/fleet_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;
using namespace std::chrono_literals;

namespace {

/// w1 has joined from its own state directory and was silent for a lease, and a copy of its key has taken its place.
struct rival_world : fleet_world {
  wire::hello copy = hello_of("w1", 2);
  rival_world() {
    worker_joins("w1");
    copy.state_id = "copied";
    copy.boot_id = "other-machine";
    copy.host = "copy.example";
    copy.incarnation = id_of<incarnation_id>(500);
    silence(13s);
    copy_comes();
    REQUIRE(status_of("w1") == "ready");
    REQUIRE(rows.at("w1").state_id == "copied");
  }
  far_worker& copy_comes() {
    auto& w = says_hello("w1", copy, "-copy");
    if (w.refusals.empty()) acknowledges("w1-copy");
    return w;
  }
  /// As in worker/session_loop_life.cpp: a refused worker without live tasks begins another life.
  far_worker& first_comes(std::uint64_t life = 101) {
    auto h = hello_of("w1", 2);
    h.incarnation = id_of<incarnation_id>(life);
    return says_hello("w1", h);
  }
};

} // namespace

TEST_CASE("a copy of the key that lives and renews does not keep the first state directory out for good") {
  rival_world c;
  c.life_goes_on(60s, {"w1-copy"});
  CHECK(c.first_comes().refusals.size() == 1); // the copy's lease is still running
  // The copy is told to leave and reconnects immediately each time.
  CHECK_FALSE(c.f->session_of_key(key_of("w1")));
  for (auto left = 12s; left > 0s; left -= 1s) {
    c.silence(1s);
    CHECK(c.copy_comes().refusals.size() == 1);
  }
  auto& back = c.first_comes(102);
  CHECK(back.refusals.empty());
  CHECK(c.f->session_of_key(key_of("w1")) == back.session());
  CHECK(c.rows.at("w1").state_id == "state-of-w1");
  CHECK(c.copy_comes().refusals.size() == 1);
}

TEST_CASE("the first state directory comes first also after a restart of the controller") {
  rival_world c;
  c.restart();
  CHECK(c.copy_comes().refusals.empty());
  CHECK(c.first_comes().refusals.size() == 1);
  c.silence(13s);
  CHECK(c.copy_comes().refusals.size() == 1);
  CHECK(c.first_comes(102).refusals.empty());
}

TEST_CASE("if the first one does not come again the copy is taken again") {
  rival_world c;
  CHECK(c.first_comes().refusals.size() == 1);
  c.silence(30s);
  CHECK(c.copy_comes().refusals.empty());
}

TEST_CASE("no work of the copy is taken for dead before its lease is over") {
  rival_world c;
  const auto task = c.placed(c.needs());
  REQUIRE(c.where(task) == "w1");
  c.first_comes();
  c.silence(5s);
  CHECK(c.first_comes(102).refusals.size() == 1);
  CHECK(c.ledger.expired.empty());
  c.silence(8s);
  CHECK(c.first_comes(103).refusals.empty());
  CHECK(c.ledger.expired.size() == 1);
}

TEST_CASE("a second holder of a key is shown, and told once in ten minutes") {
  fleet_world c;
  c.worker_joins("w1");
  auto copy = c.hello_of("w1", 2);
  copy.state_id = "copied";
  copy.host = "copy.example";
  CHECK_FALSE(c.see("w1").rival);
  for (int i = 0; i < 5; ++i) {
    c.life_goes_on(10s, {"w1"});
    c.says_hello("w1", copy, "-copy");
  }
  REQUIRE(c.see("w1").rival);
  CHECK(c.see("w1").rival->address == "copy.example");
  CHECK(c.see("w1").rival->last - c.see("w1").rival->since >= 40s);
  CHECK(c.event_count("worker_disputed") == 1);
  c.life_goes_on(700s, {"w1"});
  c.says_hello("w1", copy, "-copy");
  CHECK(c.event_count("worker_disputed") == 2);
}

TEST_CASE("a worker that moved to another directory is not a rival of itself") {
  fleet_world c;
  c.worker_joins("w1");
  c.says("w1", wire::farewell{"moves"});
  c.settle();
  auto moved = c.hello_of("w1", 2);
  moved.state_id = "moved";
  moved.incarnation = id_of<incarnation_id>(500);
  CHECK(c.says_hello("w1", moved, "-moved").refusals.empty());
  CHECK_FALSE(c.see("w1").rival);
  CHECK(c.event_count("worker_disputed") == 0);
}

TEST_CASE("a worker that can start nothing says why, and who waits for it is told") {
  fleet_world c;
  c.enrolled("w1");
  auto h = c.hello_of("w1", 0);
  h.trouble = "the worker cannot make pipes: Too many open files";
  c.says_hello("w1", h);
  c.acknowledges("w1");
  REQUIRE(c.see("w1").trouble);
  CHECK(c.see("w1").trouble->why == h.trouble);
  CHECK(c.status_of("w1") == "ready");
  const auto task = c.placed(c.needs());
  CHECK_FALSE(c.where(task));
  CHECK(c.ledger.tasks.at(task).detail.find("Too many open files") != std::string::npos);
  SECTION("and when it can again nothing of that is left") {
    c.worker_joins("w1");
    CHECK_FALSE(c.see("w1").trouble);
    c.place();
    CHECK(c.where(task) == "w1");
  }
  SECTION("another one takes the work meanwhile") {
    c.worker_joins("w2");
    c.place();
    CHECK(c.where(task) == "w2");
  }
}
