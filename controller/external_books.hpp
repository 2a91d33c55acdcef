// What the owners of external operations (work in somebody else's runtime) say of them and ask, and what they are told.
// Part of the pure heart, like `ledger`.
//
// Their runtime is not ours: what it says is taken as `reported`; when it says nothing, a lease or the bound of a stop
// ends the operation on our side, and the report calls that unconfirmed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/orders.hpp"

namespace quell::controller {

/// "Stop this": what the owner of an external operation is told. The same again says the same; one with a nearer
/// `kill_at` replaces it.
struct external_signal {
  operation_id operation;
  std::string name; ///< what its owner called this kind of work
  quell::kind kind = quell::kind::external;
  std::map<std::string, std::string> labels;
  scope_path scope;
  std::string session; ///< "" = none
  stop_cause cause = stop_cause::cancel;
  std::optional<cancel_id> cancel; ///< for cause cancel
  std::string reason;
  std::optional<storage::person> by;
  wall_time since{}; ///< told first
  milliseconds grace{0};
  wall_time kill_at{}; ///< the owner's grace is over; ten seconds later it is over on our side
};

enum class owner_word : std::uint8_t { complete, fail, stopped };

/// The end that this word asks for.
constexpr status wanted_by(owner_word what) {
  switch (what) {
  case owner_word::complete:
    return status::completed;
  case owner_word::fail:
    return status::failed;
  case owner_word::stopped:
    return status::cancelled;
  }
  return status::completed;
}

/// How its owner says that an external operation ended.
struct owner_report {
  operation_id operation;
  owner_word what = owner_word::complete;
  std::string result = {};                            ///< complete: JSON text; "" = null
  std::optional<storage::operation_error> error = {}; ///< fail
};

/// The owner of these, or of everything of a session, lives.
struct heartbeat_order {
  caller by;
  std::vector<operation_id> operations;
  std::optional<std::string> session;
};

struct heartbeat_answer {
  std::uint64_t renewed = 0;                 ///< live ones of this owner
  std::optional<wall_time> lease_expires_at; ///< the first of them; nullopt if none has a lease
  std::vector<external_signal> cancels;      ///< those that are to stop
  std::vector<operation_id> unknown;         ///< not live, not external, or not for this caller to see
};

class external_books {
 public:
  virtual ~external_books() = default;

  /// Faults: operation_not_found (it is not live), not_external, stale_start, not_started (it waits for the end of what
  /// it supersedes), already_terminal (its own work has ended).
  virtual outcome<operation_id> start_external(const operation_id& id, const caller& by, moment now) = 0;
  /// Faults: operation_not_found (it is not live), not_external, not_started, not_cancelling, already_terminal.
  virtual outcome<operation_id> end_external(const owner_report& report, const caller& by, moment now) = 0;
  /// A report on what had ended without its owner's word: kept beside its row as late, once.
  virtual void note_late_report(const owner_report& report, moment now) = 0;
  virtual heartbeat_answer heartbeat(const heartbeat_order& order, moment now) = 0;
  /// nullopt: it need not stop. Faults: operation_not_found (it is not live), not_external.
  virtual outcome<std::optional<external_signal>> signal_of(const operation_id& id, const caller& by, moment now) = 0;
  /// Of everything in this session that is being stopped and that the caller sees.
  virtual std::vector<external_signal> signals_of(const std::string& session, const caller& by, moment now) = 0;
  /// This process itself stood still: heartbeats may wait unread, so every lease counts anew from now.
  virtual void was_stalled(moment now) = 0;
};

/// The block of an external operation's row, as JSON text, and back. A text that cannot be read gives the defaults.
std::string external_block(const external_spec& spec);
external_spec read_external_block(const std::string& block);
/// What stands beside a row as late: what its owner said when it was over already.
std::string late_report_text(const owner_report& report, wall_time at);

} // namespace quell::controller
