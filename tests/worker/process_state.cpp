// What the state of a process in /proc says after it was killed.
#include <catch2/catch.hpp>

#include "worker/guardian/processes.hpp"

using namespace quell::worker;

TEST_CASE("a killed process is stuck in the kernel when it sleeps there, not when it is exiting", "[processes]") {
  constexpr unsigned forked = 0x40, exiting = 0x4;
  CHECK(is_stuck({.state = 'D', .flags = forked}));
  CHECK_FALSE(is_stuck({.state = 'D', .flags = forked | exiting})); // it gives its memory and files back
  for (const char state : {'R', 'S', 'T', 'Z', 'X'}) CHECK_FALSE(is_stuck({.state = state, .flags = forked}));
}
