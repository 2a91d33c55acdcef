// From a failing seed to a small one: removes whole troubles, then entries of the schedule, as long as the same
// invariant breaks.
#pragma once

#include <string>

#include "tests/simulation/scenario.hpp"

namespace quell::simulation {

/// `invariant` is the one that broke with `from`. At most `most_runs` scenarios are played.
cuts shrink(std::uint64_t seed, cuts from, const std::string& invariant, int most_runs = 400);

} // namespace quell::simulation
