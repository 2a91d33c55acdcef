// Asks each table of the ledger for the invariants that it states.
#include "controller/ledger/invariants.hpp"

#include "controller/ledger/live_ledger.hpp"

namespace quell::controller {

namespace live {

std::vector<std::string> live_ledger::broken_invariants() const {
  std::vector<std::string> broken;
  operations_.check(broken);
  runs_.check(broken);
  leases_.check(broken);
  tombstones_.check(broken);
  return broken;
}

} // namespace live

std::vector<std::string> broken_invariants(const ledger& l) {
  return static_cast<const live::live_ledger&>(l).broken_invariants();
}

} // namespace quell::controller
