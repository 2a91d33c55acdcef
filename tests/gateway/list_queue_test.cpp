// Lists of callers who have used little time are tried first, briefly; what is long, and the rest, waits its turn.
#include <catch2/catch.hpp>

#include "gateway/list_queue.hpp"

using namespace quell::controller::http;
using namespace std::chrono_literals;

namespace {

struct lists {
  using queue = list_queue<int>;
  queue waiting{1};
  queue::clock::time_point now{};
  std::optional<queue::taken> running;

  std::string put(const std::string& who, int job, list_nature nature = list_nature::divisible) {
    const auto where = waiting.put(
        who, job, nature, 32, now, [](int) { return false; }, [](int) {});
    return !where ? "refused" : *where == list_try::brief ? "brief" : "full";
  }
  /// The next job for a thread of this kind, as `ann 1`; `-` if there is none.
  std::string take(list_try how) {
    running = waiting.take(how);
    return running ? running->who + " " + std::to_string(running->job) : "-";
  }
  void done(std::chrono::milliseconds spent) {
    now += spent;
    waiting.done(*running, spent, now);
  }
};

} // namespace

TEST_CASE("a short list of one who has used little does not wait behind a flood of another's", "[lists]") {
  lists q;
  CHECK(q.put("flood", 0) == "brief");
  CHECK(q.take(list_try::brief) == "flood 0");
  q.done(300ms);
  for (int i = 1; i < 20; ++i) REQUIRE(q.put("flood", i) == "full");
  CHECK(q.put("ann", 1) == "brief");
  CHECK(q.take(list_try::brief) == "ann 1");
  q.done(1ms);
  CHECK(q.take(list_try::brief) == "-");
  CHECK(q.take(list_try::full) == "flood 1");
}

TEST_CASE("what a brief try does not finish is read in full, in its caller's turn", "[lists]") {
  lists q;
  CHECK(q.put("ann", 7) == "brief");
  CHECK(q.take(list_try::full) == "-");
  CHECK(q.take(list_try::brief) == "ann 7");
  q.done(5ms);
  q.waiting.read_in_full(*q.running);
  CHECK(q.take(list_try::brief) == "-");
  CHECK(q.take(list_try::full) == "ann 7");
}

TEST_CASE("whose lists came while little was used is not tried once much was", "[lists]") {
  lists q;
  for (int i = 0; i < 3; ++i) REQUIRE(q.put("ann", i) == "brief");
  CHECK(q.take(list_try::brief) == "ann 0");
  CHECK(q.waiting.is_worth_trying(*q.running, q.now));
  q.done(250ms);
  CHECK(q.take(list_try::brief) == "ann 1");
  CHECK_FALSE(q.waiting.is_worth_trying(*q.running, q.now));
}

TEST_CASE("use fades: a caller who waits a while is tried again", "[lists]") {
  lists q;
  q.put("ann", 0);
  q.take(list_try::brief);
  q.done(300ms);
  CHECK(q.put("ann", 1) == "full");
  q.now += 1s;
  CHECK(q.put("ann", 2) == "brief");
}

TEST_CASE("time read in full counts as use, too", "[lists]") {
  lists q;
  CHECK(q.put("ann", 0, list_nature::whole) == "full");
  CHECK(q.take(list_try::full) == "ann 0");
  q.done(250ms);
  CHECK(q.put("ann", 1) == "full");
}

TEST_CASE("few lists of one caller wait for a brief try, and the limit on waiting lists holds for the rest",
          "[lists]") {
  lists q;
  for (std::size_t i = 0; i < lists::queue::most_waiting_brief; ++i) CHECK(q.put("ann", 1) == "brief");
  for (int i = 0; i < 32; ++i) CHECK(q.put("ann", 2) == "full");
  CHECK(q.put("ann", 3) == "refused");
  CHECK(q.put("bob", 1) == "brief");
}

TEST_CASE("callers are remembered up to a number, and those with nothing left are forgotten first", "[lists]") {
  recent_use used(1s, 3);
  recent_use::clock::time_point now{};
  used.add("old", 2ms, now);
  now += 10s;
  used.add("ann", 50ms, now);
  used.add("bob", 50ms, now);
  used.add("carl", 50ms, now);
  CHECK(used.size() == 3);
  CHECK(used.of("old", now) == 0s);
  CHECK(used.of("ann", now) == 50ms);
  CHECK(used.of("ann", now + 1s) == 25ms);
}
