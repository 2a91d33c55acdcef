// Lists of many tokens on few threads: the least served token is next, and no token has all threads.
#include <catch2/catch.hpp>

#include "gateway/fair_queue.hpp"

using namespace quell::controller::http;

namespace {

struct queue : fair_queue<int> {
  using fair_queue::fair_queue;
  bool put(const std::string& who, int job, std::size_t most_waiting = 1000) {
    return fair_queue::put(
        who, job, most_waiting, [](int j) { return j < 0; }, [this](int j) { dropped.push_back(j); });
  }
  /// The next job as `ann 1`, or `-` if there is none.
  std::string next() {
    const auto taken = take();
    return taken ? taken->first + " " + std::to_string(taken->second) : "-";
  }
  std::vector<int> dropped;
};

} // namespace

TEST_CASE("of many jobs of one and one of another the other's comes second at the latest", "[fairness]") {
  queue q(1);
  for (int i = 0; i < 60; ++i) REQUIRE(q.put("flood", i));
  CHECK(q.next() == "flood 0");
  REQUIRE(q.put("ann", 1));
  q.done("flood", 250);
  CHECK(q.next() == "ann 1");
  q.done("ann", 1);
  CHECK(q.next() == "flood 1");
}

TEST_CASE("time counts, not jobs: whose jobs are short has more of them", "[fairness]") {
  queue q(1);
  for (int i = 0; i < 10; ++i) {
    q.put("long", i);
    q.put("short", i);
  }
  int shorts = 0;
  for (int i = 0; i < 8; ++i) {
    const auto taken = q.take();
    REQUIRE(taken);
    const bool is_short = taken->first == "short";
    shorts += is_short ? 1 : 0;
    q.done(taken->first, is_short ? 10 : 100);
  }
  CHECK(shorts >= 6);
}

TEST_CASE("a caller never has more jobs running than it may, though threads are free", "[fairness]") {
  queue q(1);
  q.put("flood", 1);
  q.put("flood", 2);
  CHECK(q.next() == "flood 1");
  CHECK(q.next() == "-");
  q.put("ann", 1);
  CHECK(q.next() == "ann 1");
  q.done("flood", 5);
  CHECK(q.next() == "flood 2");
}

TEST_CASE("who has too many waiting is refused, and what nobody waits for gives way", "[fairness]") {
  queue q(1);
  CHECK(q.put("ann", 1, 2));
  CHECK(q.put("ann", -2, 2));
  CHECK(q.put("ann", 3, 2));
  CHECK(q.dropped == std::vector<int>{-2});
  CHECK_FALSE(q.put("ann", 4, 2));
  CHECK(q.put("bob", 1, 2));
}

TEST_CASE("being away earns nothing", "[fairness]") {
  queue q(1);
  for (int i = 0; i < 5; ++i) q.put("steady", i);
  for (int i = 0; i < 4; ++i) {
    CHECK(q.next() == "steady " + std::to_string(i));
    q.done("steady", 100);
  }
  q.put("back", 1);
  q.put("back", 2);
  CHECK(q.next() == "back 1");
  q.done("back", 150);
  CHECK(q.next() == "steady 4");
}
