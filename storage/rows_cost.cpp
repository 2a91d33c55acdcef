// Rows of the tables `cost` and `turn_cost`.
#include <SQLiteCpp/Statement.h>

#include "storage/binding.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"

namespace quell::storage {

namespace {
const std::string usage_columns = "input_tokens, output_tokens, cached_tokens, written_tokens, nanos";

void bind_usage(binder& to, const model_usage& u) {
  to.count(u.input_tokens).count(u.output_tokens).count(u.cached_input_tokens).count(u.cache_written_tokens);
  to.count(u.cost_nanos);
}

model_usage usage_from(columns& from) {
  model_usage u;
  u.input_tokens = from.count();
  u.output_tokens = from.count();
  u.cached_input_tokens = from.count();
  u.cache_written_tokens = from.count();
  u.cost_nanos = from.count();
  return u;
}
} // namespace

const std::string add_cost_sql =
    "INSERT INTO cost (day, scope, author, agent, model, calls, estimated, " + usage_columns +
    ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (day, scope, author, agent, model) DO UPDATE SET "
    "calls = calls + excluded.calls, estimated = estimated + excluded.estimated, "
    "input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens, "
    "cached_tokens = cached_tokens + excluded.cached_tokens, "
    "written_tokens = written_tokens + excluded.written_tokens, nanos = nanos + excluded.nanos";
const std::string prune_cost_sql = "DELETE FROM cost WHERE id IN (SELECT id FROM cost INDEXED BY cost_key "
                                   "WHERE day < ? LIMIT 4)";
const std::string put_turn_cost_sql =
    "INSERT OR REPLACE INTO turn_cost (turn, calls, estimated, " + usage_columns + ") VALUES (?,?,?,?,?,?,?,?)";
const std::string recovered_cost_sql =
    "SELECT day, scope, author, sum(calls), sum(estimated), sum(input_tokens), sum(output_tokens), sum(cached_tokens), "
    "sum(written_tokens), sum(nanos) FROM cost INDEXED BY cost_key WHERE day >= (SELECT min(day) FROM (SELECT DISTINCT "
    "day FROM cost INDEXED BY cost_key ORDER BY day DESC LIMIT 3)) GROUP BY day, scope, author ORDER BY day";
const std::string turn_cost_columns = "turn, calls, estimated, " + usage_columns;

void write_cost(SQLite::Statement& add, SQLite::Statement& prune, const cost_record& record, utc_day keep_from) {
  const auto scope = stored_scope(record.scope.text());
  binder to(add);
  to.integer(record.day).text(scope).text(record.author).text(record.agent).text(record.model);
  to.count(record.calls).count(record.estimated);
  bind_usage(to, record.usage);
  run(add);
  if (keep_from == records::no_day) return;
  binder(prune).integer(keep_from);
  run(prune);
}

void write_turn_cost(SQLite::Statement& put, const turn_cost_record& record) {
  binder to(put);
  to.id(record.turn).count(record.calls).integer(record.usage.estimated);
  bind_usage(to, record.usage);
  run(put);
}

cost_record read_recovered_cost(SQLite::Statement& row) {
  columns from(row);
  cost_record record;
  record.day = from.integer();
  record.scope = scope_of(from.view());
  record.author = from.text();
  record.calls = from.count();
  record.estimated = from.count();
  record.usage = usage_from(from);
  record.usage.estimated = record.estimated > 0;
  return record;
}

turn_cost_record read_turn_cost(SQLite::Statement& row) {
  columns from(row);
  turn_cost_record record;
  record.turn = from.id<operation_id>();
  record.calls = from.count();
  const bool is_estimated = from.integer() != 0;
  record.usage = usage_from(from);
  record.usage.estimated = is_estimated;
  return record;
}

} // namespace quell::storage
