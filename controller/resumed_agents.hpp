// Agents that go on after a restart, or are gone, as the ledger counts and ends them. Part of the pure core, like
// `local_operations`.
#pragma once

#include "controller/ledger.hpp"

namespace quell::controller {

class resumed_agents {
 public:
  virtual ~resumed_agents() = default;
  /// The turn or sub-agent goes on. False: nothing of it had been under way, it only waited for humans; then this does
  /// not count as one of its resumes.
  virtual bool resume(const operation_id& id) = 0;
  /// Ends everything below it whose agent is gone: as stopped if it was told to stop, else as `interrupted`. Not
  /// itself.
  virtual void interrupt_below(const operation_id& id, moment now) = 0;
  /// The agent of this turn or sub-agent has died in this life, and its own work has ended: ends its calls that have
  /// begun, because nobody would answer their stop. A call that a server or a remote agent may go on with ends without
  /// proof, any other with it; one with a task or a sub-agent that lives is over when that is. Sub-agents have actors
  /// of their own, which answer for themselves.
  virtual void end_calls_of_dead(const operation_id& id, moment now) = 0;
  /// By the turn with everything below it so far, calls that the restart cut included.
  virtual tree_cost used_by(const operation_id& turn) const = 0;
};

resumed_agents& resumed_of(ledger& l);

} // namespace quell::controller
