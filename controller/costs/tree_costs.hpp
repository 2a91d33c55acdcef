// The use of live turns, each with everything below it, against their limits. Pure.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "controller/costs/limits.hpp"
#include "controller/records/costs.hpp"

namespace quell::controller::costs {

class tree_costs {
 public:
  struct account {
    tree_limits limits;
    std::uint64_t calls = 0; ///< begun
    model_usage used;        ///< by those that have ended
    std::uint64_t open = 0;  ///< of the calls that this process has begun, those that have not ended
    /// To be kept over a restart, which cuts the open ones: each of them is asked again, and counts then.
    std::uint64_t kept_calls() const { return calls - open; }
  };

  /// From before a restart; its limits come with its next call.
  void restore(const records::turn_cost_record& of) { accounts_[of.turn] = {{}, of.calls, of.usage, 0}; }
  const account* find(const operation_id& turn) const;
  /// Why the turn may not begin another call; nullopt: it may.
  std::optional<std::string> why_exhausted(const operation_id& turn, const tree_limits& limits) const;
  /// Why a turn has nothing left after the calls that have ended; nullopt: something is left, or it has no limit.
  std::optional<std::string> why_used_up(const operation_id& turn) const;
  const account& begin_call(const operation_id& turn, const tree_limits& limits);
  const account& add(const operation_id& turn, const model_usage& used);
  /// The same, with the end of a call that this process has begun.
  const account& end_call(const operation_id& turn, const model_usage& used);
  /// The turn is over: forgets its account and returns it.
  std::optional<account> close(const operation_id& turn);

 private:
  std::unordered_map<operation_id, account> accounts_;
};

} // namespace quell::controller::costs
