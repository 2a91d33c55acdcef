// Orders to the controller and their results: plain values between the gateway (HTTP), the controller actor and the
// ledger.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/records/history.hpp"
#include "controller/records/records.hpp"
#include "protocol/fault.hpp"
#include "protocol/messages.hpp"

namespace quell::controller {

/// The fate of a worker's live tasks when it is drained or removed.
enum class worker_tasks : std::uint8_t { go_on, are_cancelled };

/// The work that the dropping of old rows waits for.
enum class gives_way_to : std::uint8_t { all_work, cancels };

/// When an operation may begin once it is created.
enum class start_when : std::uint8_t {
  now,
  later ///< it stays pending until its owner, or `start_local` for quell's own, starts it
};

/// The answer to a cancel of an id that no operation has.
enum class unknown_id : std::uint8_t {
  leaves_tombstone, ///< the cancel takes precedence over a later create
  is_refused        ///< operation_not_found
};

enum class cancel_mode : std::uint8_t {
  stop,
  dry_run ///< the answer says what would be stopped; nothing changes
};

/// How far the time in a client-chosen operation id may be from now. It ensures that no id outlives its tombstone, and
/// that a row with an older id can be dropped, since a repeated create of it is refused.
inline constexpr std::chrono::hours id_window{12};

/// Identities of callers without a stored token: whoever owns the machine, and quell itself.
inline constexpr std::string_view bootstrap_token_id = "bootstrap", own_token_id = "quell";

/// The caller, from the token. The ledger checks rights on the tree; the gateway has already checked the role.
struct caller {
  quell::role role = quell::role::observer;
  std::optional<scope_path> prefix; ///< it sees and changes only this scope and everything below it
  std::optional<operation_id> task; ///< for a task's own token: it sees itself and can cancel below itself
  records::person owner;
  std::string token_name; ///< for display: names are not unique
  /// The identity wherever callers are compared or stored: a stored token's id, `bootstrap`, `task:ID`, `service:NAME`
  /// or `quell`.
  std::string token_id;
};

/// The settings of an operation that runs in another runtime.
struct external_spec {
  milliseconds lease{0};    ///< its owner must send a heartbeat at least this often; 0 = no heartbeat needed
  std::string session = {}; ///< the session in its runtime; "" = none
  start_when start = start_when::now;
  friend bool operator==(const external_spec&, const external_spec&) = default;
};

/// A create whose shape and limits the gateway has checked; the ledger checks everything that depends on the tree.
struct create_order {
  caller by;
  std::optional<operation_id> id; ///< chosen by the client
  quell::kind kind = quell::kind::task;
  std::optional<scope_path> scope; ///< nullopt = the parent's, else `default`
  std::optional<operation_id> parent;
  std::string name, title;
  std::map<std::string, std::string> labels;
  std::optional<records::person> owner; ///< nullopt = the caller
  std::optional<milliseconds> timeout;  ///< 0 = none; nullopt: none, or the gateway's configured default
  std::optional<milliseconds> grace;
  quell::on_parent_end on_parent_end = quell::on_parent_end::cancel;
  std::optional<std::string> supersede;
  std::optional<std::uint64_t> as_of_seq;
  task_spec task;
  external_spec external;
  // Set only by quell itself:
  start_when start = start_when::now;
  std::string kind_data;                    ///< see operation_record
  std::optional<records::call_record> call; ///< kind tool_call
  std::string fingerprint;                  ///< of the body, for same id + same body
  bool is_shown = false;                    ///< the caller wants `created::shown`
};

/// A refused order: the error and, for stale starts, the cancel that refuses it.
struct refusal {
  coded_fault error;
  std::optional<records::cancel_record> cancel;
  std::optional<operation_id> operation;
  milliseconds retry_after{0}; ///< after this time the reason is gone; 0 = that is not known
};

template <class T>
using outcome = tl::expected<T, refusal>;

struct new_operation;

struct created {
  operation_id id;
  bool existed = false; ///< same id and same body: 200
  /// If the order asked for it, the new operation, so that nobody reads back what was just written. Null if it existed,
  /// or has ended already.
  std::shared_ptr<new_operation> shown = {};
};

struct cancel_order {
  caller by_token;
  std::optional<cancel_id> id; ///< chosen by the client
  records::cancel_target target;
  unknown_id if_unknown = unknown_id::leaves_tombstone;
  bool has_ended = false; ///< the store has the target as terminal: the cancel is recorded as already_finished
  std::string reason;
  std::optional<records::person> by; ///< nullopt = the caller's owner
  std::string via_channel = "api";
  std::optional<milliseconds> grace;
  std::optional<std::uint64_t> up_to_seq;
  cancel_mode mode = cancel_mode::stop;
  std::string fingerprint;
  boot_time received{}; ///< when the request was fully read; fenced_ms counts from here
  bool is_dry_run() const { return mode == cancel_mode::dry_run; }
  bool must_exist() const { return if_unknown == unknown_id::is_refused; }
};

/// One entry of `unproven` (SURFACE 3).
struct unproven_operation {
  operation_id operation;
  std::string title; ///< filled by the gateway from the row
  scope_path scope;
  std::optional<std::string> worker;
  unproven_why why = unproven_why::signal_in_flight;
  wall_time since{};
  std::uint32_t processes_total = 0;
  std::vector<process_view> processes;
  next_action next = next_action::signal;
  std::optional<wall_time> next_at;
  std::optional<wall_time> dead_by;
};

/// The current state of a cancel. For a settled one `unproven` is empty.
struct cancel_view {
  records::cancel_record record; ///< outcome, status and counts as of now; for `joined` those of the open cancel
  std::uint64_t unproven_total = 0;
  std::vector<unproven_operation> unproven; ///< at most 100, oldest first
  bool proven = false;
  /// Dry run only: the operations that the cancel would stop, at most 1,000, oldest first; record.report.operations
  /// counts all.
  std::vector<operation_id> would_stop;
  bool truncated = false;
};

struct waiting_for {
  std::string what; ///< slot | worker | approval | turn | start
  wall_time since{};
  std::string detail;
};

/// The ledger's newer knowledge of a live operation: every answer overlays the committed row with it.
struct live_view {
  operation_id id;
  records::operation_hot hot; ///< status already derived from cutoffs and closed ancestors
  std::optional<waiting_for> waiting;
  std::optional<wall_time> unreachable_since, dead_by;
  std::optional<wall_time> lease_expires_at; ///< of an external operation that has a lease
};

/// An operation as the commit that creates it leaves it.
struct new_operation {
  records::operation_record row;
  live_view view;
};

enum class listed_scopes : std::uint8_t { all, live };

struct scope_view {
  scope_path scope;
  std::uint64_t live = 0, cancelling = 0; ///< in and below it
  std::uint64_t cutoff_seq = 0;           ///< 0 = none
  std::optional<cancel_id> last_cancel;
};

/// The reason why a worker can start nothing now, in the worker's own words.
struct worker_trouble {
  wall_time since{};
  std::string why;
};

/// Another process that holds the key of a worker.
struct key_rival {
  wall_time since{}, last{};
  std::string address; ///< as the other process reports it
};

struct worker_view {
  records::worker_record record;
  worker_status status = worker_status::enrolled;
  std::uint32_t slots_used = 0;
  std::uint64_t operations_live = 0;
  std::optional<wall_time> lease_expires_at, unreachable_since, dead_by;
  std::optional<worker_trouble> trouble;
  std::optional<key_rival> rival;
  /// Whether it has stored the controller's next key; nullopt: no next key exists.
  std::optional<bool> knows_controller_key;
};

struct cluster_view {
  std::uint64_t seq = 0;
  cluster_id cluster;
  std::uint64_t epoch = 0;
  std::map<std::string, std::uint64_t> workers;                                    ///< by status name
  std::map<std::string, std::uint64_t> operations;                                 ///< live ones by status name
  std::map<std::pair<std::string, std::string>, std::uint64_t> operations_by_kind; ///< live ones by (kind, status)
  std::uint64_t cancels_open = 0;
  std::optional<double> oldest_open_cancel_ms;
};

} // namespace quell::controller
