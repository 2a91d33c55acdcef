// The ledger as the actors of this process (turns, model calls, tool calls, sub-agents) use it, and the notices it
// sends them. Part of the pure core, like `ledger`.
//
// The ledger decides which of two events wins: once it has accepted the stop of an operation, it no longer accepts an
// end that the actor reports. Every operation of kind tool_call gets exactly one result, in the transaction that closes
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/orders.hpp"
#include "controller/records/history.hpp"
#include "protocol/approval_outcome.hpp"

namespace quell::controller {

/// A stop that concerns an operation of this process. Sent once the stop is durable.
struct actor_signal {
  operation_id operation;
  stop_cause cause = stop_cause::cancel;
  std::optional<cancel_id> cancel;
  std::string reason; ///< of the cancel
  milliseconds grace{0};
  bool is_fenced = false; ///< its cancel is on disk, or cannot be: nothing has to be stored before this leaves
};

/// An operation became terminal. Sent once that is durable.
struct ended_operation {
  operation_id id;
  status as = status::completed;
  std::optional<exit_state> exit = std::nullopt;
  std::optional<records::operation_error> error = std::nullopt;
  /// Of a task: processes that its leader left running and that were killed; the first of them.
  std::uint32_t left_total = 0;
  std::vector<process_view> left = {};
  friend bool operator==(const ended_operation&, const ended_operation&) = default;
};

/// The end of an actor's own work, as the actor sees it.
struct own_outcome {
  status as = status::completed; ///< or failed
  std::optional<records::operation_error> error = std::nullopt;
  std::string result = {}; ///< JSON text; "" = null
  /// The proof to record if the operation was told to stop before.
  proof evidence = proof::internal;
  std::optional<receipt> how = std::nullopt;                ///< the receipt for that case; absent: cooperative
  std::optional<records::call_outcome> call = std::nullopt; ///< kind tool_call: its result
  // Kind turn: exactly one event reports its end. If it was told to stop before, the stop is the reason of the abort.
  std::optional<std::string> completed_data = std::nullopt; ///< JSON text: the data of its turn_complete
  std::string abort_reason = "error";                       ///< otherwise: the reason in its turn_abort
};

/// The decision on a call that waits for a human's approval.
struct decision {
  approval_outcome outcome = approval_outcome::denied;
  std::string reason;
  records::person by;
  std::string event_data; ///< JSON text: the data of its event
  /// If it is approved: JSON text of the object with which the call runs instead of its own input; "" = with its own.
  std::string input = {};
  std::string changed = {}; ///< the same for the call's row: see `records::call_record`
  bool is_approved() const { return outcome == approval_outcome::approved; }
};

/// One live operation of a scope.
struct outlined {
  operation_id id, root;
  quell::kind kind = quell::kind::task;
  status now = status::pending; ///< derived, as in every view
  milliseconds grace{0};
};

/// A turn that has not ended.
struct open_turn {
  operation_id id;
  scope_path scope;
  bool has_started = false;
};

class local_operations {
 public:
  virtual ~local_operations() = default;

  /// Its work begins now; this is the last check before that. Faults: `stale_start` if it was told to stop meanwhile,
  /// `already_terminal` if it has ended.
  virtual outcome<operation_id> start_local(const operation_id& id, moment now) = 0;
  /// Marks a running call as waiting for a human. False if it is being stopped.
  virtual bool pause(const operation_id& id, moment now) = 0;
  /// A denied call ends with `denied_result`. Faults: operation_not_found, not_paused.
  virtual outcome<operation_id> decide(const operation_id& id, const decision& d,
                                       const records::call_outcome& denied_result, moment now) = 0;
  /// True: the operation has this end. False: it was told to stop before and is cancelled, or it had already ended.
  virtual bool finish_local(const operation_id& id, const own_outcome& end, moment now) = 0;
  /// Stops it and everything below it for a cause other than a cancel. `call`: the result that a tool_call gets instead
  /// of the usual one. True: this is the stop that counts.
  virtual bool stop_local(const operation_id& id, stop_cause cause, std::optional<records::call_outcome> call,
                          moment now) = 0;
  /// Gives the message its seq and returns the seq.
  virtual std::uint64_t add_message(records::message_record message, moment now) = 0;
  /// Keeps late evidence beside an end without proof, once; also beside an end of an earlier life, of which only the
  /// store knows whether it was proven: the caller has looked. No effect on an operation that lives.
  virtual void note_outcome(const operation_id& id, std::string json) = 0;
  /// Adds a call that never became an operation, together with its result.
  virtual void add_closed_call(records::call_record call) = 0;
  /// Turns and sub-agents that the restart interrupted, oldest first; each is returned once.
  virtual std::vector<operation_id> interrupted() = 0;
  /// Live turns whose own work has not ended, oldest first. After a restart these are the turns that wait to begin or
  /// wait for a human.
  virtual std::vector<open_turn> open_turns() const = 0;
  /// The user has been answered about this stop; the row of the message records it from now on.
  virtual void acknowledged(const message_id& message) = 0;

  // ---- what lives in a scope and below it
  virtual std::uint64_t live_in(const scope_path& scope) const = 0;
  /// Whether it is a live turn of exactly this scope, or hangs below one.
  virtual bool is_below_turn_in(const operation_id& id, const scope_path& scope) const = 0;
  /// The tasks of exactly this scope that were detached from what started them.
  virtual std::uint64_t detached_tasks(const scope_path& scope) const = 0;
  virtual bool has_live_of(const std::string& owner, const scope_path& scope) const = 0;
  /// Oldest first, at most `limit`.
  virtual std::vector<outlined> outline(const scope_path& scope, std::size_t limit) const = 0;
  /// Tasks in this scope that are being stopped and can still be alive on a worker, except those below `root`; at most
  /// `limit`.
  virtual std::vector<outlined> dying_tasks(const scope_path& scope, const operation_id& root,
                                            std::size_t limit) const = 0;
};

} // namespace quell::controller
