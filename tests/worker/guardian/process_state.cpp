// The state in /proc of a process that was killed.
#include <catch2/catch.hpp>

#include "worker/guardian/processes.hpp"

using namespace quell;
using namespace quell::worker;

TEST_CASE("a killed process is stuck in the kernel when it sleeps there, not when it is exiting", "[processes]") {
  constexpr unsigned forked = 0x40, exiting = 0x4;
  CHECK(why_not_ended({.state = 'D', .flags = forked}, true) == unproven_why::stuck_in_kernel);
  // It is releasing its memory and files.
  CHECK(why_not_ended({.state = 'D', .flags = forked | exiting}, true) == unproven_why::kill_in_flight);
  for (const char state : {'R', 'S', 'T', 'Z', 'X', '\0'})
    CHECK(why_not_ended({.state = state, .flags = forked}, true) == unproven_why::kill_in_flight);
  for (const char state : {'D', 'S'})
    CHECK(why_not_ended({.state = state, .flags = forked}, false) == unproven_why::no_permission);
}
