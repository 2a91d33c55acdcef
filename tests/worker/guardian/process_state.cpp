// The state in /proc of a process that was killed.
#include <catch2/catch.hpp>

#include "worker/guardian/processes.hpp"

using namespace quell::worker;

TEST_CASE("a killed process is stuck in the kernel when it sleeps there, not when it is exiting", "[processes]") {
  constexpr unsigned forked = 0x40, exiting = 0x4;
  CHECK(is_stuck({.state = 'D', .flags = forked}));
  CHECK_FALSE(is_stuck({.state = 'D', .flags = forked | exiting})); // it is releasing its memory and files
  for (const char state : {'R', 'S', 'T', 'Z', 'X'}) CHECK_FALSE(is_stuck({.state = state, .flags = forked}));
}
