// Leases from both ends, on clocks that drift.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "protocol/lease.hpp"

using namespace quell;
using namespace std::chrono_literals;

namespace {
constexpr boot_time start{1'000'000'000'000};
}

TEST_CASE("a worker without a welcome has no lease and may start nothing", "[lease]") {
  const worker_lease lease;
  CHECK_FALSE(lease.base());
  CHECK_FALSE(lease.end());
  CHECK(lease.over(start));
}

TEST_CASE("a lease counts from the sending of the answered beat, not from the answer", "[lease]") {
  worker_lease lease;
  lease.welcomed(start, 10s);
  lease.sent(1, start + 1s);
  lease.sent(2, start + 2s);
  CHECK(lease.granted(1, 10s) == start + 1s);
  CHECK(lease.end() == start + 11s);
  CHECK(lease.granted(2, 12s) == start + 2s);
  CHECK(lease.end() == start + 14s);
}

TEST_CASE("an answer to an unknown, a repeated or an older beat changes nothing", "[lease]") {
  worker_lease lease;
  lease.welcomed(start, 10s);
  lease.sent(1, start + 1s);
  lease.sent(2, start + 2s);
  REQUIRE(lease.granted(2, 10s));
  CHECK_FALSE(lease.granted(1, 3600s));
  CHECK_FALSE(lease.granted(2, 3600s));
  CHECK_FALSE(lease.granted(3, 3600s));
  CHECK(lease.end() == start + 12s);
}

TEST_CASE("a new welcome voids the beats of the session before", "[lease]") {
  worker_lease lease;
  lease.welcomed(start, 10s);
  lease.sent(1, start + 5s);
  lease.welcomed(start + 6s, 10s);
  CHECK_FALSE(lease.granted(1, 10s));
  CHECK(lease.end() == start + 16s);
}

TEST_CASE("the last 1,000 unanswered beats are remembered", "[lease]") {
  worker_lease lease;
  lease.welcomed(start, 10s);
  for (std::uint64_t beat = 1; beat <= 1001; ++beat) lease.sent(beat, start + milliseconds{beat});
  CHECK_FALSE(lease.granted(1, 10s));
  CHECK(lease.granted(2, 10s) == start + 2ms);
}

TEST_CASE("the killing begins a margin before the end", "[lease]") {
  worker_lease lease;
  lease.welcomed(start, 10s);
  CHECK_FALSE(lease.over(start + 8999ms));
  CHECK(lease.over(start + 9000ms));
  CHECK(kill_margin(10s) == 1s);
  CHECK(kill_margin(100ms) == 100ms);
  CHECK(kill_margin(1h) == 2s);
}

TEST_CASE("a task's own longer lease outlives the worker's; a shorter one has no effect", "[lease]") {
  worker_lease lease;
  lease.welcomed(start, 10s);
  CHECK(lease.end(60s) == start + 60s);
  CHECK_FALSE(lease.over(start + 30s, 60s));
  CHECK(lease.end(1s) == start + 10s);
  controller_lease controller;
  controller.answered(start, 10s);
  CHECK(controller.dead_by() == start + 11100ms);
  CHECK(controller.dead_by(60s) == start + 61600ms);
  CHECK(controller.dead_by(1s) == controller.dead_by());
}

TEST_CASE("a handover holds until the next grant", "[lease]") {
  worker_lease lease;
  lease.welcomed(start, 10s);
  lease.handover_received(start + 3s, 60s);
  CHECK(lease.end() == start + 60s); // independent of the time that it travelled
  lease.welcomed(start + 20s, 10s);
  CHECK(lease.end() == start + 30s);
}

TEST_CASE("a handover followed by a grant that may be lost still counts in full for the controller", "[lease]") {
  controller_lease lease;
  lease.answered(start, 60s);
  lease.answered(start + 1s, 10s);
  CHECK(lease.dead_by() == start + lease_wait(60s));
}

TEST_CASE("once the worker has applied a new session's welcome, longer leases of earlier sessions are forgotten",
          "[lease]") {
  auto lease = controller_lease::recovered(start, 60s);
  lease.session_begins();
  lease.answered(start + 5s, 10s);
  CHECK(lease.dead_by() == start + lease_wait(60s));
  lease.session_taken();
  CHECK(lease.dead_by() == start + 5s + lease_wait(10s));
  lease.session_begins();
  lease.session_taken(); // no welcome was sent: nothing newer is known
  CHECK(lease.dead_by() == start + 5s + lease_wait(10s));
}

TEST_CASE("a controller that never granted a lease has no dead-by", "[lease]") {
  CHECK_FALSE(controller_lease().dead_by());
}

TEST_CASE("the longest lease of 7 days does not overflow", "[lease]") {
  controller_lease lease;
  lease.answered(start, 24h * 7);
  CHECK(*lease.dead_by() - start == 24h * 7 + 6048s + 1s);
}

// The central property: over any exchange of beats, answers, welcomes and handovers of which any can be lost, on clocks
// whose rates differ by up to 1 %, the worker's end comes before the instant from which the controller calls its tasks
// dead.
TEST_CASE("the worker's end always comes before the controller's dead-by", "[lease]") {
  CHECK(rc::check([] {
    const auto skew_ppm = *rc::gen::inRange<std::int64_t>(-9'900, 9'901); // worker's rate against the controller's
    const auto offset_ns = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000);
    const auto worker_clock = [&](boot_time t) { return boot_time{offset_ns + t.ns + t.ns / 1'000'000 * skew_ppm}; };
    // The instant on the controller's clock at which the worker's clock shows `w`.
    const auto seen_from_controller = [&](boot_time w) {
      return boot_time{static_cast<std::int64_t>(static_cast<long double>(w.ns - offset_ns) * 1'000'000 /
                                                 static_cast<long double>(1'000'000 + skew_ppm))};
    };
    const auto task_lease = *rc::gen::maybe(
        rc::gen::map(rc::gen::inRange<std::int64_t>(1, 604'800'000), [](std::int64_t ms) { return milliseconds{ms}; }));
    const std::optional<milliseconds> own = task_lease ? std::optional(*task_lease) : std::nullopt;
    worker_lease worker;
    controller_lease controller;
    boot_time now{5'000'000'000};
    const auto pass = [&now] { now = now + std::chrono::milliseconds{*rc::gen::inRange(0, 20'000)}; };
    const auto length = [] { return milliseconds{*rc::gen::inRange<std::int64_t>(1, 120'000)}; };
    const auto arrives = [] { return *rc::gen::arbitrary<bool>(); };
    std::uint64_t beat = 0;
    bool handed_over = false;
    const auto steps = *rc::gen::inRange(1, 25);
    for (int step = 0; step < steps; ++step) {
      pass();
      const auto what = *rc::gen::inRange(0, 8);
      if (what == 0) { // a hello and its welcome
        const auto sent_at = worker_clock(now);
        pass();
        const auto granted = length();
        controller.session_begins();
        handed_over = false;
        controller.answered(now, granted);
        pass();
        if (arrives()) {
          worker.welcomed(sent_at, granted);
          if (arrives()) controller.session_taken(); // the acknowledgement of frame 1 came
        }
      } else if (what == 1 && worker.base() && !handed_over) {
        const auto granted = length();
        controller.answered(now, granted);
        handed_over = true; // the controller answers no beat of this session from now on
        pass();             // frames can be resent for a long time before one arrives
        if (arrives()) worker.handover_received(worker_clock(now), granted);
      } else if (worker.base()) {
        worker.sent(++beat, worker_clock(now));
        pass();
        if (handed_over) continue;
        const auto granted = length();
        controller.answered(now, granted);
        pass();
        if (arrives()) worker.granted(beat, granted);
      }
      if (worker.base()) {
        const auto dead_by = controller.dead_by(own);
        RC_ASSERT(dead_by.has_value());
        RC_ASSERT(seen_from_controller(*worker.end(own)) < *dead_by);
      }
    }
  }));
}
