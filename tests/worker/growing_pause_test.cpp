// The pauses of a worker that can start nothing, or has no guardian.
#include "worker/growing_pause.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace quell::worker;
using namespace std::chrono_literals;

namespace {

using pauses = std::vector<std::chrono::nanoseconds>;

pauses of(growing_pause p, int failures) {
  pauses all;
  for (int i = 0; i < failures; ++i) all.push_back(p.next());
  return all;
}

} // namespace

TEST_CASE("the pause of a worker that can start nothing doubles from a second up to a minute", "[pauses]") {
  CHECK(of(pause_of_starts, 9) == pauses{1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s, 60s});
  CHECK(of(pause_of_starts, 1000).back() == 60s);
}

TEST_CASE("the pause between tries to replace a guardian doubles from 250 ms up to 8 s", "[pauses]") {
  CHECK(of(pause_of_repairs, 8) == pauses{250ms, 500ms, 1s, 2s, 4s, 8s, 8s, 8s});
}

TEST_CASE("after a success the pauses begin anew", "[pauses]") {
  auto p = pause_of_starts;
  for (int i = 0; i < 20; ++i) p.next();
  p.reset();
  CHECK(of(p, 3) == pauses{1s, 2s, 4s});
}
