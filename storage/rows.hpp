// The form of each record in its table: one write and one read function per kind of row.
#pragma once

#include <string>

#include "controller/records/history.hpp"
#include "controller/records/recovered_state.hpp"
#include "storage/audit.hpp"
#include "storage/record_names.hpp"

namespace SQLite {
class Statement;
}

namespace quell::storage {

class binder;
class columns;

// The statements. A `write_…` function binds, runs and resets the statement of the same name; all throw
// SQLite::Exception.
extern const std::string insert_operation_sql;
extern const std::string insert_bulk_sql;
extern const std::string update_live_sql;  ///< the operation stays live
extern const std::string update_ended_sql; ///< the operation becomes or already is terminal
extern const std::string put_late_sql;     ///< changes nothing while it lives, or if a late word is kept
extern const std::string put_cancel_sql;
extern const std::string put_cutoff_sql;
extern const std::string put_tombstone_sql;
extern const std::string put_worker_sql;
extern const std::string put_token_sql;
extern const std::string put_event_sql;
extern const std::string audit_columns;
extern const std::string newest_audit_sql; ///< number and hash of the newest entry
extern const std::string put_audit_sql;
extern const std::string prune_audit_sql; ///< prunes entries that are too old at ?1
extern const std::string insert_message_sql;
extern const std::string discard_message_sql;
extern const std::string end_message_sql; ///< ending, turn
extern const std::string acknowledge_message_sql;
extern const std::string insert_call_sql;
extern const std::string settle_call_sql; ///< changes nothing if the call already has a result
extern const std::string change_call_sql; ///< changes nothing if the input of the call was changed before
/// The five columns of a use, in the order of `cost_sums`.
model_usage usage_from(columns& from);
/// The sums of a SELECT from `cost`: calls, estimated calls and the five columns of their use. No sum overflows.
std::string cost_sums();
extern const std::string add_cost_sql;
extern const std::string prune_cost_sql; ///< a few rows of days before ?1
extern const std::string put_turn_cost_sql;
/// Sums by day, scope and author of the newest three days that have any.
extern const std::string recovered_cost_sql;
/// The cutoffs with what their cancels say of the token; a cancel is kept as long as a cutoff names it.
extern const std::string recovered_cutoffs_sql;

/// Columns to select, in the order that `read_…` expects. Tables go by these names, never by an alias.
extern const std::string operation_columns;
extern const std::string cancel_columns;
extern const std::string tombstone_columns;
extern const std::string worker_columns;
extern const std::string token_columns;
extern const std::string event_columns;
extern const std::string message_columns;
extern const std::string call_columns;
extern const std::string turn_cost_columns;

void write_operation(SQLite::Statement& insert, SQLite::Statement& insert_bulk, const operation_record& record);
/// Throws `mismatch` if the operation does not exist, or if it is terminal and this write would change its end.
void write_hot(SQLite::Statement& update_live, SQLite::Statement& update_ended, const operation_id& id,
               const operation_hot& hot);
void write_late(SQLite::Statement& put, const operation_id& id, const std::string& late);
void write_cancel(SQLite::Statement& put, const cancel_record& record);
void write_cutoff(SQLite::Statement& put, const cutoff_record& record);
void write_tombstone(SQLite::Statement& put, const tombstone_record& record);
void write_worker(SQLite::Statement& put, const worker_record& record);
void write_token(SQLite::Statement& put, const token_record& record);
void write_event(SQLite::Statement& put, const event_record& record);
/// Appends the event of type `audit` as the next entry of the chain, and drops old entries. audit.cpp
void append_audit(SQLite::Statement& newest, SQLite::Statement& put, SQLite::Statement& prune,
                  const event_record& record);
void write_message(SQLite::Statement& insert, const message_record& record);
/// Writes the call without its outcome.
void write_call(SQLite::Statement& insert, const call_record& record);
void write_outcome(SQLite::Statement& settle, const operation_id& call, const call_outcome& outcome);
void write_call_change(SQLite::Statement& change, const operation_id& call, const std::string& changed);
void write_cost(SQLite::Statement& add, SQLite::Statement& prune, const cost_record& record, utc_day keep_from);
void write_turn_cost(SQLite::Statement& put, const turn_cost_record& record);

// Each function reads the current row of a statement that selects the columns above. Throws `corrupt_row`.
operation_record read_operation(SQLite::Statement& row);
/// The same into a fresh record, from these columns in any form.
void read_operation(columns from, operation_record& into);
cancel_record read_cancel(SQLite::Statement& row);
recovered_cutoff read_cutoff(SQLite::Statement& row);
tombstone_record read_tombstone(SQLite::Statement& row);
worker_record read_worker(SQLite::Statement& row);
token_record read_token(SQLite::Statement& row);
event_record read_event(SQLite::Statement& row);
audit_record read_audit(SQLite::Statement& row);
message_record read_message(SQLite::Statement& row);
call_record read_call(SQLite::Statement& row);
cost_record read_recovered_cost(SQLite::Statement& row);
turn_cost_record read_turn_cost(SQLite::Statement& row);

/// Runs a bound statement that returns no rows and resets it for its next use, even if it throws.
void run(SQLite::Statement& statement);
/// The scope from a column that holds `stored_scope`. Throws `corrupt_row`.
scope_path scope_of(std::string_view stored);
std::optional<scope_path> maybe_scope(columns& row);
/// `stored_scope` of a scope, if it is set.
std::optional<std::string> stored(const std::optional<scope_path>& scope);

} // namespace quell::storage
