// Asks each table of the ledger for the invariants that it states.
#include "controller/ledger/invariants.hpp"

#include <map>

#include "controller/ledger/live_ledger.hpp"

namespace quell::controller {

namespace live {

std::vector<std::string> live_ledger::broken_invariants() const {
  std::vector<std::string> broken;
  operations_.check(broken);
  runs_.check(broken);
  leases_.check(broken);
  tombstones_.check(broken);
  std::map<index, std::uint32_t> cutoffs;
  for (const auto& [text, scope] : scopes_.by_text())
    if (const index token = scopes_[scope].cutoff_token; token != none) ++cutoffs[token];
  for (const auto& [token, count] : cutoffs)
    if (cutoff_tokens_.holders(token) != count)
      broken.push_back("the cutoffs of token " + cutoff_tokens_[token] + " are miscounted");
  if (cutoffs.size() != cutoff_tokens_.size()) broken.push_back("the cutoffs of a token are kept for nobody");
  for (index x = 0; x < operations_.end_index(); ++x) {
    const operation_node& n = operations_[x];
    if (n.seq == 0 || !n.external) continue;
    if (const index session = n.external->session; session != none) {
      const auto& above = leases_.scope_above(session);
      if (above && !scopes_[n.scope].path.is_at_or_below(*above))
        broken.push_back("a session has operation " + n.id.text() + " outside of the scope of all its operations");
    }
    if (sweeps_.empty() && !n.is_over() && stop_of(x) && !leases_.notified().contains(n.seq))
      broken.push_back("operation " + n.id.text() +
                       " is stopped, no sweep is under way, and its owner was not notified");
  }
  return broken;
}

} // namespace live

std::vector<std::string> broken_invariants(const ledger& l) {
  return static_cast<const live::live_ledger&>(l).broken_invariants();
}

} // namespace quell::controller
