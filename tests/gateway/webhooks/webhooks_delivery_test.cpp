// A webhook's progress through the events: order, retries, and giving up, on a clock that the test sets.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "gateway/webhooks/delivery.hpp"
#include "gateway/webhooks/position.hpp"

using namespace quell;
using namespace quell::controller::webhooks;
using namespace std::chrono_literals;

namespace {

struct world {
  delivery work{10};
  moment now{wall_time{1'700'000'000s}, {1'000'000'000}};
  std::vector<std::uint64_t> posted;

  void pass(milliseconds d) { now.wall += d, now.boot = now.boot + d; }
  sentence found(std::vector<std::uint64_t> ids, std::uint64_t looked_to, bool is_whole = true) {
    REQUIRE(work.wants_to_read(now.boot));
    work.reads();
    CHECK_FALSE(work.wants_to_read(now.boot));
    page p;
    for (const auto id : ids) p.items.push_back({id, now.wall, "{}"});
    p.looked_to = looked_to;
    p.is_whole = is_whole;
    return work.read(std::move(p));
  }
  void post() {
    const auto* one = work.to_send(now.boot);
    REQUIRE(one);
    posted.push_back(one->id);
    work.sends();
    CHECK_FALSE(work.to_send(now.boot));
  }
  sentence answer(long status, milliseconds retry_after = 0ms) {
    return work.answered(status, "connection refused", retry_after, now, 1.0);
  }
  sentence deliver(long status) {
    post();
    return answer(status);
  }
  milliseconds wait() { return std::chrono::ceil<milliseconds>(*work.next_at() - now.boot); }
};

using ids = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("events are delivered one after the other, and each moves the position", "[webhooks]") {
  world w;
  w.found({11, 14}, 20);
  CHECK(w.work.position() == 10);
  CHECK(w.deliver(200).empty());
  CHECK(w.work.position() == 11);
  CHECK(w.deliver(204).empty());
  CHECK(w.work.position() == 20); // no event between 14 and 20 is wanted
  CHECK(w.posted == ids{11, 14});
  CHECK_FALSE(w.work.next_at());
  w.work.nudge();
  w.found({}, 25);
  CHECK(w.work.position() == 25);
}

TEST_CASE("what is nudged while something waits is looked for afterwards", "[webhooks]") {
  world w;
  w.found({11}, 11);
  w.work.nudge();
  CHECK_FALSE(w.work.wants_to_read(w.now.boot));
  w.deliver(200);
  CHECK(w.work.wants_to_read(w.now.boot));
  w.found({12}, 12, false); // a full page
  w.deliver(200);
  CHECK(w.work.wants_to_read(w.now.boot));
}

TEST_CASE("a receiver that is away is tried again, later and later, and nothing overtakes", "[webhooks]") {
  world w;
  w.found({11, 12}, 12);
  CHECK(w.deliver(0) == "takes nothing: connection refused");
  CHECK(w.wait() == 1s);
  CHECK_FALSE(w.work.to_send(w.now.boot));
  milliseconds last = 0ms;
  for (const long status : {500L, 503L, 404L, 401L, 302L, 408L, 429L, 500L, 500L, 500L, 500L}) {
    w.pass(w.wait());
    CHECK(w.deliver(status).empty());
    CHECK(w.wait() >= last);
    last = w.wait();
  }
  CHECK(last == 5min);
  w.pass(last);
  CHECK(w.deliver(200) == "takes events again");
  w.deliver(200);
  CHECK(w.posted.back() == 12);
  CHECK(std::count(w.posted.begin(), w.posted.end(), 12) == 1);
}

TEST_CASE("a receiver says when to come back, within an hour", "[webhooks]") {
  world w;
  w.found({11}, 11);
  w.post();
  w.answer(429, 30s);
  CHECK(w.wait() == 30s);
  w.pass(30s);
  w.post();
  w.answer(503, 48h);
  CHECK(w.wait() == 1h);
}

TEST_CASE("an event that the receiver refuses by itself is given up after five tries", "[webhooks]") {
  world w;
  w.found({11, 12}, 12);
  for (int i = 0; i < 4; ++i) {
    w.deliver(422);
    w.pass(w.wait());
  }
  CHECK(w.deliver(422) == "event 11 is given up: the receiver answered 422");
  w.pass(w.wait());
  w.deliver(200);
  CHECK(w.posted.back() == 12);
  CHECK(w.work.position() == 12);
  CHECK(w.work.state(w.now) == "1 delivered, 1 given up, nothing waits");
}

TEST_CASE("after a day without a receiver the old events are given up together, the young ones are not", "[webhooks]") {
  world w;
  REQUIRE(w.work.wants_to_read(w.now.boot));
  w.work.reads();
  page p;
  p.items = {{11, w.now.wall - 25h, "{}"}, {12, w.now.wall - 24h - 1s, "{}"}, {13, w.now.wall - 1h, "{}"}};
  p.looked_to = 13;
  w.work.read(std::move(p));
  CHECK(w.deliver(500) == "2 events (11 to 12) are given up after a day: the receiver answered 500");
  CHECK(w.work.position() == 12);
  w.pass(w.wait());
  w.deliver(200);
  CHECK(w.posted == ids{11, 13});
}

TEST_CASE("old events are delivered all the same while the receiver takes them", "[webhooks]") {
  world w;
  w.work.reads();
  page p;
  p.items = {{11, w.now.wall - 100h, "{}"}};
  p.looked_to = 11;
  w.work.read(std::move(p));
  CHECK(w.deliver(200).empty());
  CHECK(w.work.position() == 11);
}

TEST_CASE("a receiver that is gone gets nothing more", "[webhooks]") {
  world w;
  w.found({11, 12}, 12);
  CHECK(w.deliver(410).starts_with("is gone (410)"));
  w.pass(1h);
  w.work.nudge();
  CHECK_FALSE(w.work.to_send(w.now.boot));
  CHECK_FALSE(w.work.wants_to_read(w.now.boot));
  CHECK_FALSE(w.work.next_at());
  CHECK(w.work.position() == 10); // the next start continues there
  CHECK(w.work.state(w.now).starts_with("disabled"));
}

TEST_CASE("a store that cannot be read is tried again, and what it no longer keeps is told", "[webhooks]") {
  world w;
  w.work.reads();
  w.work.not_read(w.now.boot);
  CHECK_FALSE(w.work.wants_to_read(w.now.boot));
  CHECK(w.wait() == 1s);
  w.pass(1s);
  w.work.reads();
  page p;
  p.looked_to = 50;
  p.lost = 7;
  CHECK(w.work.read(std::move(p)).starts_with("up to 7 events were dropped"));
}

TEST_CASE("a position is kept whole, and a broken one is said instead of guessed", "[webhooks]") {
  const auto folder = std::filesystem::temp_directory_path() / ("quell-position-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const position_file file(folder.string(), "hook");
  CHECK_FALSE(file.read()->has_value());
  REQUIRE(file.write(88121));
  CHECK(**file.read() == 88121);
  std::ofstream(folder / "webhooks" / "hook") << "many\n";
  CHECK(file.read().error().code == "storage_unavailable");
  std::filesystem::remove_all(folder);
}
