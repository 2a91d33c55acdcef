// Reports and queries from the owners of external operations (work in another runtime), and the signals they get. Part
// of the pure core, like `ledger`.
//
// The other runtime is not ours: its reports count as `reported`. If it does not report, a lease or the bound of a stop
// ends the operation on our side, and the report lists it as unconfirmed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/orders.hpp"

namespace quell::controller {

/// A stop signal for the owner of an external operation. Repeating it is idempotent; a signal with an earlier `kill_at`
/// replaces it.
struct external_signal {
  operation_id operation;
  std::string name; ///< the owner's name for this kind of work
  quell::kind kind = quell::kind::external;
  std::map<std::string, std::string> labels;
  scope_path scope;
  std::string session; ///< "" = none
  stop_cause cause = stop_cause::cancel;
  std::optional<cancel_id> cancel; ///< for cause cancel
  std::string reason;
  std::optional<records::person> by;
  wall_time since{}; ///< when the owner was first notified
  milliseconds grace{0};
  wall_time kill_at{};    ///< end of the owner's grace; ten seconds later the operation ends on our side
  bool is_fenced = false; ///< as in `actor_signal`
};

enum class owner_word : std::uint8_t { complete, fail, stopped };

/// The terminal status that this report asks for.
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

/// The owner's report of how an external operation ended.
struct owner_report {
  operation_id operation;
  owner_word what = owner_word::complete;
  std::string result = {};                            ///< complete: JSON text; "" = null
  std::optional<records::operation_error> error = {}; ///< fail
};

/// The owner reports that these operations, or all operations of a session, are alive.
struct renewal_order {
  caller by;
  std::vector<operation_id> operations;
  std::optional<std::string> session;
  std::uint64_t after = 0; ///< only signals for operations with a higher seq are wanted; 0 = all
};

/// The most signals in one answer, and the most bytes of their labels: beyond these the next answer has them.
inline constexpr std::size_t most_signals = 1000, most_signal_bytes = 256 * 1024;

struct renewal_answer {
  std::uint64_t renewed = 0;                 ///< live ones of this owner
  std::optional<wall_time> lease_expires_at; ///< the first of them; nullopt if none has a lease
  std::vector<external_signal> cancels;      ///< live ones that must stop, by seq
  std::vector<operation_id> unknown;         ///< not live, not external, or not visible to this caller
  std::optional<std::uint64_t> next = {};    ///< there are more cancels: `after` for them
};

class external_operations {
 public:
  virtual ~external_operations() = default;

  /// Faults: operation_not_found (not live), not_external, stale_start, not_started (the operation that it supersedes
  /// has not ended), already_terminal (its own work has ended).
  virtual outcome<operation_id> start_external(const operation_id& id, const caller& by, moment now) = 0;
  /// Faults: operation_not_found (not live), not_external, not_started, not_cancelling, already_terminal.
  virtual outcome<operation_id> end_external(const owner_report& report, const caller& by, moment now) = 0;
  /// Keeps a report that came after the operation had ended unreported, marked late, beside its row, once.
  virtual void note_late_report(const owner_report& report, moment now) = 0;
  virtual renewal_answer heartbeat(const renewal_order& order, moment now) = 0;
  /// nullopt: it need not stop. Faults: operation_not_found (not live), not_external.
  virtual outcome<std::optional<external_signal>> signal_of(const operation_id& id, const caller& by, moment now) = 0;
  /// The signals of all operations of this session that are being stopped and that the caller can see.
  virtual std::vector<external_signal> signals_of(const std::string& session, const caller& by, moment now) = 0;
  /// This process was stalled: heartbeats can be waiting unread, so every lease starts anew now.
  virtual void was_stalled(moment now) = 0;
};

/// The block of an external operation's row as JSON text, and the reverse. An unreadable text gives the defaults.
std::string external_block(const external_spec& spec);
external_spec read_external_block(const std::string& block);
/// The JSON text kept beside a row for a report that came after the operation had ended.
std::string late_report_text(const owner_report& report, wall_time at);

} // namespace quell::controller
