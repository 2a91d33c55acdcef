// The durable state as plain values: the rows of each table. Shared by the journal, the queries and the controller's
// ledger.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "protocol/event_type.hpp"
#include "protocol/failure_code.hpp"
#include "protocol/id.hpp"
#include "protocol/scope.hpp"
#include "protocol/task.hpp"
#include "protocol/time.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::records {

struct person {
  std::string id;
  std::string name;
  friend bool operator==(const person&, const person&) = default;
};

struct operation_error {
  /// A name of `failure_code`; of an external operation whatever its owner says, and of a call whatever its tool says.
  /// A text, because anything may come.
  std::string code;
  std::string message;
  friend bool operator==(const operation_error&, const operation_error&) = default;
};
inline operation_error own_error(failure_code code, std::string message) {
  return {std::string(name_of(code)), std::move(message)};
}
inline bool has_code(const operation_error& e, failure_code code) { return e.code == name_of(code); }

/// The stop that applies to an operation. The reason and author of a cancel are in the cancel's own row.
struct stop_state {
  stop_cause cause = stop_cause::cancel;
  std::uint64_t seq = 0; ///< of the cancel, or of a stop with another cause
  std::optional<cancel_id> cancel;
  std::optional<wall_time> signalled_at;
  std::optional<wall_time> kill_at;
  std::optional<receipt> how; ///< set with the terminal status
  std::optional<proof> evidence;
  std::string reason = {};                 ///< of a stop that is not a cancel: a drain's
  std::optional<person> by = std::nullopt; ///< the person who ordered that stop
  friend bool operator==(const stop_state&, const stop_state&) = default;
};

/// The part of an operation that changes while it lives.
struct operation_hot {
  status now = status::pending;
  std::optional<std::string> worker; ///< set when it is assigned, before the START is sent
  std::optional<wall_time> started_at;
  std::optional<wall_time> deadline_at;
  std::optional<wall_time> ended_at;
  std::uint64_t ended_seq = 0; ///< seq assigned with the terminal status; 0 = live
  std::optional<stop_state> stop;
  std::optional<exit_state> exit;
  std::optional<operation_error> error;
  std::optional<status> self_status;  ///< how its own work ended while its children are still live
  std::optional<proof> self_evidence; ///< beside `self_status`: how that end was known, unless the stop says it
  std::optional<containment> level;   ///< the containment in use, since it started
  std::int32_t pid = 0;
  output_counts output;
  std::string result; ///< JSON text; "" = null
  std::string late;   ///< JSON text of evidence that came after the terminal status; "" = none
  friend bool operator==(const operation_hot&, const operation_hot&) = default;
};

struct operation_record {
  operation_id id;
  std::uint64_t seq = 0;
  std::uint64_t as_of = 0; ///< = seq unless deferred work set an earlier one
  quell::kind kind = quell::kind::task;
  std::string name;
  std::string title;
  scope_path scope;
  std::optional<operation_id> parent;
  operation_id root;
  bool detached = false; ///< on_parent_end = detach: it is the root of its own tree for cancels
  person owner;
  std::string via_token_id; ///< the token whose share it takes; "" = nobody's: from a version that did not store it
  std::map<std::string, std::string> labels;
  std::optional<std::string> supersede;
  milliseconds timeout{0};
  milliseconds grace{2000};
  quell::on_parent_end on_parent_end = quell::on_parent_end::cancel;
  wall_time created_at{};
  task_spec task;          ///< for kind task
  std::string kind_data;   ///< for other kinds: data specific to the kind, as a JSON object; "" = none
  std::string fingerprint; ///< fingerprint of the create's body, for `id_conflict`
  operation_hot hot;
  std::string call_change = {}; ///< of a tool_call, see `call_record::changed`; written by `put_call_change` alone
  friend bool operator==(const operation_record&, const operation_record&) = default;
};

struct target_operation {
  operation_id id;
  friend bool operator==(const target_operation&, const target_operation&) = default;
};
struct target_scope {
  scope_path scope;
  friend bool operator==(const target_scope&, const target_scope&) = default;
};
/// `below`: the caller's prefix, or the scope named with the owner.
struct target_owner {
  std::string owner;
  std::optional<scope_path> below;
  friend bool operator==(const target_owner&, const target_owner&) = default;
};
struct target_everything {
  std::optional<scope_path> below;
  friend bool operator==(const target_everything&, const target_everything&) = default;
};
using cancel_target = std::variant<target_operation, target_scope, target_owner, target_everything>;

/// The counts of a report (SURFACE 3). sum(receipts) + unproven = operations = sum(proofs) + unproven, always.
struct report_counts {
  std::uint64_t operations = 0;
  std::vector<std::string> workers;
  std::array<std::uint64_t, count_of<receipt>()> receipts{};
  std::array<std::uint64_t, count_of<proof>()> proofs{};
  std::optional<double> fenced_ms, signalled_ms, settled_ms;
  friend bool operator==(const report_counts&, const report_counts&) = default;
};

struct cancel_record {
  cancel_id id;
  std::uint64_t seq = 0;
  cancel_target target;
  std::uint64_t cutoff = 0; ///< covers as_of <= cutoff (= seq, or up_to_seq), and everything spawned by such operations
  cancel_outcome outcome = cancel_outcome::stopping;
  cancel_status status = cancel_status::fenced;
  std::string reason;
  person by;
  std::string via_channel;       ///< cli | api | console | …
  std::string via_token;         ///< the token's name, for people
  std::string via_token_id = {}; ///< the token's id; "" = from a version that stored names only: matches no token
  std::optional<milliseconds> grace;
  /// A smaller grace from a later cancel of the same target, used if `grace` means "each operation its own".
  std::optional<milliseconds> tighter;
  std::optional<std::uint64_t> up_to_seq;
  wall_time created_at{};
  bool durable = true;
  report_counts report;
  std::string fingerprint;
  friend bool operator==(const cancel_record&, const cancel_record&) = default;
};

/// The last cancel of one scope: work in or below it with as_of <= cutoff is stale.
struct cutoff_record {
  scope_path scope;
  std::uint64_t cutoff = 0;
  cancel_id cancel;
  friend bool operator==(const cutoff_record&, const cutoff_record&) = default;
};

/// A cancel of an id that does not exist yet; it takes precedence over a later create.
struct tombstone_record {
  operation_id id;
  cancel_id cancel;
  wall_time expires_at{};
  std::string via_token;            ///< for the quota: the token's id (in earlier versions its name)
  std::optional<scope_path> within; ///< the rights of its author: it affects only a create in or below this scope
  friend bool operator==(const tombstone_record&, const tombstone_record&) = default;
};

struct drain_state {
  wall_time since{};
  std::string reason;
  std::optional<wall_time> deadline_at;
  std::optional<person> by = std::nullopt;
  friend bool operator==(const drain_state&, const drain_state&) = default;
};

struct worker_record {
  std::string name;
  std::string public_key;
  std::map<std::string, std::string> enrolled_labels;
  wall_time enrolled_at{};
  // As reported by its last hello:
  std::map<std::string, std::string> labels;
  std::uint32_t slots = 0;
  std::optional<containment> level;
  std::vector<std::string> containment_limits;
  std::string version, address, boot_id, state_id;
  std::optional<incarnation_id> incarnation;
  std::optional<wall_time> joined_at, last_heard_at;
  bool lost = false;
  /// The longest lease length granted to it (ms); 0 = none. Stored before it is first granted.
  milliseconds lease{0};
  std::optional<drain_state> drain;
  /// The state directory that first used the key; "" = none yet.
  std::string home_state;
  /// The key that the worker offered and has not used yet; valid beside `public_key`. "" = none.
  std::string next_key;
  std::optional<wall_time> key_changed_at;
  /// The controller's next key, if the worker has stored it; "" = none.
  std::string controller_key;
  friend bool operator==(const worker_record&, const worker_record&) = default;
};

struct token_record {
  token_id id;
  std::string name;
  quell::role role = quell::role::observer;
  std::optional<scope_path> scope; ///< prefix; nullopt = all
  std::string hash;                ///< SHA-256 of the secret, hex
  person owner;
  wall_time created_at{};
  std::optional<wall_time> expires_at, last_used_at;
  friend bool operator==(const token_record&, const token_record&) = default;
};

/// One event (SURFACE 7). For operation_* and cancel_* events `data` is "" and is filled from the row when the event is
/// sent.
struct event_record {
  std::uint64_t id = 0;
  event_type type = event_type::unlisted;
  wall_time at{};
  std::optional<scope_path> scope;
  std::optional<operation_id> operation, root;
  std::optional<cancel_id> cancel;
  std::optional<std::string> worker;
  std::string data;          ///< JSON text or ""
  std::string unlisted_type; ///< of an `unlisted` type: its text, as another version of quelld stored it; else ""
  friend bool operator==(const event_record&, const event_record&) = default;
};

/// The text of its type, as it is stored and shown; valid as long as the event.
inline std::string_view text_of(const event_record& event) {
  return event.type == event_type::unlisted ? std::string_view(event.unlisted_type) : text_of(event.type);
}

} // namespace quell::records
