// Rows of the tables `message` and `call`.
#include <SQLiteCpp/Statement.h>

#include "storage/binding.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"

namespace quell::storage {

const std::string message_columns = "seq, id, scope, role, at, turn, aside, author, author_name, client_id, decision, "
                                    "acknowledged, interrupted, discarded, "
                                    "input_tokens, output_tokens, cached_input_tokens, text";
const std::string insert_message_sql =
    "INSERT INTO message (" + message_columns + ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
const std::string discard_message_sql =
    "UPDATE message INDEXED BY message_asked SET discarded = 1 WHERE turn = ? AND role = 0 AND discarded = 0";
const std::string end_message_sql =
    "UPDATE message INDEXED BY message_asked SET decision = "
    "json_patch(CASE WHEN json_valid(decision) THEN decision ELSE '{}' END, ?) WHERE turn = ? AND role = 0";

const std::string acknowledge_message_sql = "UPDATE message SET acknowledged = 1 WHERE id = ? AND acknowledged = 0";

const std::string call_columns = "operation, answer, position, call, name, ok, cancelled, input, result, "
                                 "(SELECT c.changed FROM call_change c WHERE c.operation = call.operation)";
const std::string insert_call_sql =
    "INSERT INTO call (operation, answer, position, call, name, input) VALUES (?, ?, ?, ?, ?, ?)";
const std::string settle_call_sql =
    "UPDATE call SET ok = ?, cancelled = ?, result = ? WHERE operation = ? AND result IS NULL";

const std::string change_call_sql = "INSERT OR IGNORE INTO call_change (operation, changed) VALUES (?, ?)";

void write_message(SQLite::Statement& insert, const message_record& record) {
  const auto scope = stored_scope(record.scope.text());
  binder to(insert);
  to.count(record.seq).id(record.id).text(scope).code(record.role).time(record.at);
  to.id(record.turn).integer(record.aside);
  to.text_or_nothing(record.author.id).text_or_nothing(record.author.name);
  to.text_or_nothing(record.client_id).text_or_nothing(record.decision);
  record.acknowledged ? to.integer(*record.acknowledged) : to.nothing();
  to.integer(record.interrupted).integer(record.discarded);
  to.count_or_nothing(record.usage.input_tokens).count_or_nothing(record.usage.output_tokens);
  to.count_or_nothing(record.usage.cached_input_tokens).text(record.text);
  run(insert);
}

message_record read_message(SQLite::Statement& row) {
  columns from(row);
  message_record record;
  record.seq = from.count();
  record.id = from.id<message_id>();
  record.scope = scope_of(from.view());
  record.role = from.code<message_role>();
  record.at = from.time();
  record.turn = from.maybe_id<operation_id>();
  record.aside = from.integer() != 0;
  record.author.id = from.text();
  record.author.name = from.text();
  record.client_id = from.text();
  record.decision = from.text();
  if (const auto done = from.maybe_integer()) record.acknowledged = *done != 0;
  record.interrupted = from.integer() != 0;
  record.discarded = from.integer() != 0;
  record.usage.input_tokens = from.count();
  record.usage.output_tokens = from.count();
  record.usage.cached_input_tokens = from.count();
  record.text = from.text();
  return record;
}

void write_call(SQLite::Statement& insert, const call_record& record) {
  binder to(insert);
  to.id(record.operation).count(record.answer).count(record.position);
  to.text(record.call).text(record.name).text(record.input);
  run(insert);
}

void write_outcome(SQLite::Statement& settle, const operation_id& call, const call_outcome& outcome) {
  binder(settle).integer(outcome.ok).integer(outcome.cancelled).text(outcome.result).id(call);
  run(settle);
}

void write_call_change(SQLite::Statement& change, const operation_id& call, const std::string& changed) {
  binder(change).id(call).text(changed);
  run(change);
}

call_record read_call(SQLite::Statement& row) {
  columns from(row);
  call_record record;
  record.operation = from.id<operation_id>();
  record.answer = from.count();
  record.position = static_cast<std::uint32_t>(from.count());
  record.call = from.text();
  record.name = from.text();
  call_outcome outcome;
  outcome.ok = from.integer() != 0;
  outcome.cancelled = from.integer() != 0;
  record.input = from.text();
  if (auto result = from.maybe_text()) {
    outcome.result = std::move(*result);
    record.outcome = std::move(outcome);
  }
  record.changed = from.text();
  return record;
}

} // namespace quell::storage
