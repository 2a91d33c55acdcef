// A thread that has work for long lets others run.
#include <catch2/catch.hpp>

#include <chrono>

#include <sys/resource.h>

#include "protocol/urgency.hpp"

using namespace quell;
using namespace std::chrono_literals;

namespace {

long rests_of_this_thread() {
  rusage used{};
  REQUIRE(::getrusage(RUSAGE_THREAD, &used) == 0);
  return used.ru_nvcsw; // it gave the processor up by itself
}

/// Works until it has rested, or until `most` is over.
bool rests_within(turn_keeper& keeper, std::chrono::milliseconds most) {
  const auto before = rests_of_this_thread();
  const auto end = std::chrono::steady_clock::now() + most;
  while (rests_of_this_thread() == before) {
    if (std::chrono::steady_clock::now() > end) return false;
    keeper.worked();
  }
  return true;
}

} // namespace

TEST_CASE("a thread rests again and again while it has work", "[urgency]") {
  turn_keeper keeper(100us, 200us);
  for (int i = 0; i < 10; ++i) CHECK(rests_within(keeper, 10s));
}

TEST_CASE("a thread that has just slept does not rest", "[urgency]") {
  turn_keeper keeper(1h, 1h);
  const auto before = rests_of_this_thread();
  for (int i = 0; i < 1'000; ++i) {
    keeper.begins();
    keeper.worked();
  }
  CHECK(rests_of_this_thread() == before);
}
