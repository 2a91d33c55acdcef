// The filters of the public lists.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/records/records.hpp"

namespace quell::records {

/// `status` filters that the store can decide; the ledger has the exact live status, and the caller filters by it.
struct operation_filter {
  std::vector<scope_path> scopes;               ///< each: at or below; OR
  std::optional<scope_path> within;             ///< the caller's rights, AND
  std::optional<operation_id> within_operation; ///< a task's token: it and everything below, AND
  bool want_live = true, want_ended = true;
  std::vector<status> ended_statuses; ///< of the ended ones; empty = all three
  std::vector<quell::kind> kinds;
  std::vector<std::string> names, owners, workers;
  std::vector<std::string> errors;                         ///< codes; OR
  std::vector<std::pair<std::string, std::string>> labels; ///< same key: OR, different keys: AND
  std::vector<operation_id> parents, roots;
  std::optional<operation_id> below;                 ///< the operation and everything under it
  std::optional<cancel_id> covered_by;               ///< operations that this cancel covered
  std::optional<wall_time> since, until;             ///< created_at
  std::optional<wall_time> ended_since, ended_until; ///< ended_at; only what has ended passes
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
  std::vector<event_type> types;
  std::vector<std::string> unlisted_types; ///< texts of further types, which only rows of another version can have
  std::uint64_t after = 0;
  std::optional<std::uint64_t> up_to; ///< no event with a higher id; what was committed since costs nothing then
  std::uint32_t limit = 1000;

  /// False: events of every type pass.
  bool has_types() const { return !types.empty() || !unlisted_types.empty(); }
  bool names(event_type type) const { return std::find(types.begin(), types.end(), type) != types.end(); }
  bool names(const event_record& event) const {
    if (event.type != event_type::unlisted) return names(event.type);
    return std::find(unlisted_types.begin(), unlisted_types.end(), event.unlisted_type) != unlisted_types.end();
  }
};

struct message_filter {
  scope_path scope;                       ///< exactly this scope
  std::optional<operation_id> aside_of;   ///< the conversation of this sub-agent instead of the scope's own
  std::uint64_t after_seq = 0;            ///< continue behind this seq in the chosen order; 0 = from the start
  std::optional<std::uint64_t> above_seq; ///< only messages with a higher seq
  bool ascending = true;
  std::uint32_t limit = 100;
};

} // namespace quell::records
