// Reads the store: committed rows only; each object has its own read-only connection and is used by one thread at a
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/fault.hpp"
#include "storage/audit.hpp"
#include "storage/history.hpp"
#include "storage/records.hpp"

namespace quell::storage {

/// `status` filters that the store can decide; the ledger has the exact live status, and the caller filters by it.
struct operation_filter {
  std::vector<scope_path> scopes;               ///< each: at or below; OR
  std::optional<scope_path> within;             ///< the caller's rights, AND
  std::optional<operation_id> within_operation; ///< a task's token: it and everything below, AND
  bool want_live = true, want_ended = true;
  std::vector<status> ended_statuses; ///< of the ended ones; empty = all three
  std::vector<quell::kind> kinds;
  std::vector<std::string> names, owners, workers;
  std::vector<std::pair<std::string, std::string>> labels; ///< same key: OR, different keys: AND
  std::vector<operation_id> parents, roots;
  std::optional<operation_id> below;     ///< the operation and everything under it
  std::optional<cancel_id> covered_by;   ///< operations that this cancel covered
  std::optional<wall_time> since, until; ///< created_at
  bool ascending = false;
  std::uint64_t after_seq = 0; ///< continue behind this seq in the chosen order; 0 = from the start
  std::uint32_t limit = 100;
};

struct cancel_filter {
  std::vector<scope_path> scopes; ///< targets at or below
  std::optional<scope_path> within;
  bool only_open = false;
  std::optional<cancel_status> status;
  std::optional<operation_id> operation; ///< cancels that covered this operation
  std::optional<std::string> owner;      ///< by.id
  bool ascending = false;
  std::uint64_t after_seq = 0;
  std::uint32_t limit = 100;
};

struct event_filter {
  std::vector<scope_path> scopes;
  std::optional<scope_path> within;
  std::optional<operation_id> below; ///< the operation and everything under it
  std::vector<std::string> types;
  std::uint64_t after = 0;
  std::uint32_t limit = 1000;
};

struct message_filter {
  scope_path scope;                       ///< exactly this scope
  std::optional<operation_id> aside_of;   ///< the conversation of this sub-agent instead of the scope's own
  std::uint64_t after_seq = 0;            ///< continue behind this seq in the chosen order; 0 = from the start
  std::optional<std::uint64_t> above_seq; ///< only messages with a higher seq
  bool ascending = true;
  std::uint32_t limit = 100;
};

class queries {
 public:
  static result<std::unique_ptr<queries>> open(const std::string& directory);
  virtual ~queries() = default;

  virtual result<std::optional<operation_record>> operation(const operation_id& id) = 0;
  virtual result<std::vector<operation_record>> operations(const operation_filter& f) = 0;
  /// True if `id` is `ancestor` or below it (along parents, detached edges included).
  virtual result<bool> is_below(const operation_id& id, const operation_id& ancestor) = 0;
  /// Messages with their calls, in the chosen order of seq, including discarded ones. Texts are whole, and an input or
  /// a result can be large, so keep pages short.
  virtual result<std::vector<kept_message>> messages(const message_filter& f) = 0;
  /// The newest message in this scope that has this client id; none for "".
  virtual result<std::optional<message_record>> message_of_client(const scope_path& scope,
                                                                  const std::string& client_id) = 0;
  /// Messages that ordered a stop and are not acknowledged yet, oldest first, at most 1,000.
  virtual result<std::vector<message_record>> unacknowledged() = 0;
  virtual result<std::optional<cancel_record>> cancel(const cancel_id& id) = 0;
  virtual result<std::vector<cancel_record>> cancels(const cancel_filter& f) = 0;
  virtual result<std::vector<event_record>> events(const event_filter& f) = 0;
  /// The oldest event id still stored; nullopt if none.
  virtual result<std::optional<std::uint64_t>> oldest_event() = 0;
  virtual result<std::uint64_t> newest_event() = 0;
  /// Entries of the audit with a number above `after`, oldest first, at most `limit`.
  virtual result<std::vector<audit_record>> audit(std::uint64_t after, std::uint32_t limit) = 0;
};

/// The name of the output folder inside the state directory; the controller manages its files.
inline constexpr const char* output_folder = "output";

} // namespace quell::storage
