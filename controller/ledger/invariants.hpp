// The invariants of the ledger's tables, for tests and the simulation.
#pragma once

#include <string>
#include <vector>

#include "controller/ledger.hpp"

namespace quell::controller {

/// A sentence for each invariant of the ledger's tables (tombstones, ...) that does not hold; empty = all hold. Call it
/// between two calls of the ledger. Reads everything that is live, so it is not for production.
std::vector<std::string> broken_invariants(const ledger& l);

} // namespace quell::controller
