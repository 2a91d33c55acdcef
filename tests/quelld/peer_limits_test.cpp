// Limits of one worker: budgets, complaints, its own queue to the controller actor, and hellos.
#include <catch2/catch.hpp>

#include "actors/frame_queue.hpp"
#include "integrations/host/log_rate_limiter.hpp"
#include "protocol/peer_budget.hpp"
#include "tests/controller/fleet/fleet_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace std::chrono_literals;

namespace {

constexpr boot_time start{1'000'000'000};

actors::arrived_frame frame(std::uint64_t number) {
  return {"route", "key", {{}, number, 0, wire::acknowledge{}}, {}, 0};
}

} // namespace

TEST_CASE("a budget allows a burst and then a steady rate", "[peers]") {
  budget b({10, 2});
  for (int i = 0; i < 10; ++i) CHECK(b.take(1, start));
  CHECK_FALSE(b.take(1, start));
  CHECK_FALSE(b.take(1, start + 400ms));
  CHECK(b.take(1, start + 500ms));
  CHECK_FALSE(b.take(1, start + 600ms));
  // Unused budget accumulates, but never beyond the burst.
  for (int i = 0; i < 10; ++i) CHECK(b.take(1, start + 1h));
  CHECK_FALSE(b.take(1, start + 1h));
}

TEST_CASE("what is larger than a budget is possible once it is full", "[peers]") {
  budget b({10, 2});
  CHECK(b.take(1000, start));
  CHECK_FALSE(b.take(1000, start + 4s));
  CHECK(b.take(1000, start + 5s));
}

TEST_CASE("a clock that steps back gives nobody anything", "[peers]") {
  budget b({1, 1});
  CHECK(b.take(1, start + 10s));
  CHECK_FALSE(b.take(1, start));
  CHECK_FALSE(b.take(1, start + 10s));
  CHECK(b.take(1, start + 11s));
}

TEST_CASE("each peer has a budget of its own", "[peers]") {
  peer_budgets b({1, 1});
  CHECK(b.take("a", 1, start));
  CHECK_FALSE(b.take("a", 1, start));
  CHECK(b.take("b", 1, start));
}

TEST_CASE("lines about one peer become few and count what was left out", "[peers]") {
  log_rate_limiter log;
  int written = 0;
  for (int i = 0; i < 1000; ++i) written += log.due("a", "a is wrong", start).has_value();
  CHECK(written == 10);
  CHECK(log.due("b", "b is wrong", start) == "b is wrong (990 more lines of this kind were left out before this one)");
  CHECK(log.due("a", "a is wrong", start + 2min) == "a is wrong");
}

TEST_CASE("lines about a crowd are few too", "[peers]") {
  log_rate_limiter log;
  int written = 0;
  for (int i = 0; i < 10'000; ++i) written += log.due("peer " + std::to_string(i), "is wrong", start).has_value();
  CHECK(written == 100);
  CHECK(log.always("and so is this") == "and so is this (9900 more lines of this kind were left out before this one)");
}

TEST_CASE("a queue is announced once, taken in portions and announced again while there is more", "[peers]") {
  using outcome = actors::frame_queue::outcome;
  actors::frame_queue q;
  CHECK(q.put(frame(1), 10) == outcome::announce);
  for (std::uint64_t n = 2; n <= 100; ++n) CHECK(q.put(frame(n), 10) == outcome::queued);
  const auto first = q.take();
  REQUIRE(first.size() == actors::frame_queue::portion);
  CHECK(first.front().content.number == 1);
  CHECK(q.more());
  CHECK(q.put(frame(101), 10) == outcome::queued); // the queue was announced already
  const auto second = q.take();
  REQUIRE(second.size() == 101 - actors::frame_queue::portion);
  CHECK(second.back().content.number == 101);
  CHECK_FALSE(q.more());
  CHECK(q.put(frame(102), 10) == outcome::announce);
}

TEST_CASE("a queue holds so many bytes and no more, but any one frame", "[peers]") {
  using outcome = actors::frame_queue::outcome;
  actors::frame_queue q;
  CHECK(q.put(frame(1), 64 << 20) == outcome::announce);
  CHECK(q.put(frame(2), 1) == outcome::full);
  q.take();
  CHECK_FALSE(q.more());
  CHECK(q.put(frame(2), 1) == outcome::announce);
}

TEST_CASE("a flood of hellos is answered now and then, and an honest pace always", "[peers]") {
  test::fleet_world w;
  w.enrolled("w1");
  std::size_t answered = 0;
  const auto welcomes = [&] {
    return static_cast<std::size_t>(std::count_if(w.history.begin(), w.history.end(), [](const auto& f) {
      return std::holds_alternative<wire::welcome>(f.frame.body);
    }));
  };
  for (int i = 0; i < 2000; ++i) {
    auto h = w.hello_of("w1", 2);
    h.proposed = test::id_of<session_id>(static_cast<std::uint64_t>(1000 + i));
    w.f->frame("route", test::key_of("w1"), {h.proposed, 0, 0, h}, w.now);
    w.settle();
  }
  answered = welcomes();
  CHECK(answered == 200);
  for (int i = 0; i < 100; ++i) { // the worker calms down: one hello each 100 ms
    w.pass(100ms);
    auto h = w.hello_of("w1", 2);
    h.proposed = test::id_of<session_id>(static_cast<std::uint64_t>(10'000 + i));
    w.f->frame("route", test::key_of("w1"), {h.proposed, 0, 0, h}, w.now);
    w.settle();
  }
  CHECK(welcomes() == answered + 100);
}
