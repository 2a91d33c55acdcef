// One open cancel: its row with the counts so far, its remaining operations, and the workers whose acknowledgement it
// awaits.
#pragma once

#include <vector>

#include "controller/ledger/owned.hpp"
#include "controller/ledger/slab.hpp"
#include "controller/records/records.hpp"

namespace quell::controller::live {

class cancel_runs;

/// A field of a run that only the open cancels change: see their invariants.
template <class T>
using of_runs = owned<cancel_runs, T>;

struct cancel_run {
  records::cancel_record record;
  of_runs<std::uint64_t> remaining{0}; ///< live operations that the cancel covers
  boot_time received{};                ///< the report's times count from here
  bool is_fenced = false;              ///< the owner has reported that the intent is durable (or cannot be)
  of_runs<bool> is_dirty{false};       ///< the row must be written with the next effects
  of_runs<bool> has_progress{false};   ///< counts changed since the last progress event
  boot_time last_progress{};
  std::uint64_t visit = 0;    ///< the last search that found it
  std::vector<index> awaited; ///< workers that have not applied it yet

  index operation = none; ///< target_operation: the operation, while it lives
  std::uint64_t operation_seq = 0;
  index scope = none; ///< target_scope: the scope; target_owner and everything: the scope to which it is limited (the
                      ///< root: no limit)
  index owner = none; ///< target_owner: interned

  std::optional<scope_path> event_scope; ///< the scope of its events
  std::optional<operation_id> event_root;

  bool is_broad() const {
    return std::holds_alternative<records::target_owner>(record.target) ||
           std::holds_alternative<records::target_everything>(record.target);
  }
  bool is_scope() const { return std::holds_alternative<records::target_scope>(record.target); }
};

} // namespace quell::controller::live
