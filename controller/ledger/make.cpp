// The entry to the ledger: the rest of it is in ledger/.
#include "controller/ledger.hpp"

#include "controller/ledger/live_ledger.hpp"

namespace quell::controller {

bool ledger_effects::empty() const {
  return journal.empty() && placeable.empty() && stops.empty() && freed.empty() && stored.empty() &&
         cancels_changed.empty() && ended.empty() && signals.empty() && owner_signals.empty() && forbidden.empty();
}

std::unique_ptr<ledger> ledger::make(ledger_settings s, records::recovered_state recovered, moment now) {
  return std::make_unique<live::live_ledger>(std::move(s), std::move(recovered), now);
}

} // namespace quell::controller
