// Model calls against their budgets: part of the pure core, like `ledger`.
//
// A call is let in and its cost is added in transactions of the ledger, so no call is let in on a sum that another one
// has just changed. The cost of a call is known only when it ends: the calls in flight at the moment at which a budget
// is used up still end, and are what it can be exceeded by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/costs/limits.hpp"
#include "controller/local_operations.hpp"
#include "controller/records/costs.hpp"

namespace quell::controller {

/// The use of a call, where and for whom. The ledger knows the day.
struct used_by_call {
  scope_path scope;
  std::string author;
  std::string agent;
  std::string model; ///< its name in the configuration
  model_usage usage;
};

/// A turn with everything below it.
struct tree_cost {
  std::uint64_t calls = 0;
  model_usage usage;
  friend bool operator==(const tree_cost&, const tree_cost&) = default;
};

struct model_call_end {
  operation_id call;
  operation_id turn; ///< at the top of its tree
  own_outcome end;
  used_by_call used; ///< without what was counted before its end
  /// It is the turn's own last call: the turn may end with it although it has used up its budget.
  bool is_last = false;
  /// Its event; the cost of the tree is added to the data, a JSON object.
  std::optional<records::event_record> reported = std::nullopt;
};

/// Used by a call that has no operation, or by an attempt that a call has given up for another one.
struct early_use {
  used_by_call used;
  std::optional<operation_id> turn = std::nullopt; ///< at the top of its tree
  /// Its event; the cost of the tree is added as to that of the end.
  std::optional<records::event_record> reported = std::nullopt;
};

struct closed_model_call {
  bool has_this_end = false; ///< see `local_operations::finish_local`
  tree_cost tree;
};

class model_costs {
 public:
  virtual ~model_costs() = default;

  /// Registers a model call of this turn or below it. If a budget is used up the turn is stopped instead (cause
  /// `budget`), with everything below it: fault `stale_start`, its stop is on the way.
  virtual outcome<created> open_model_call(const create_order& order, const operation_id& id, const operation_id& turn,
                                           const costs::tree_limits& limits, moment now) = 0;
  /// Adds its cost to the day and the tree and ends it. Stops the turn if that used up a budget.
  virtual closed_model_call close_model_call(const model_call_end& end, moment now) = 0;
  /// Adds what is known before the end of a call, or of one without an operation, and ends and stops nothing. The sum
  /// of its turn; nothing without a turn.
  virtual tree_cost add_cost(const early_use& what, moment now) = 0;
};

} // namespace quell::controller
