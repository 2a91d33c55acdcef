// Rows of the tables `cost` and `turn_cost`.
#include <algorithm>

#include <SQLiteCpp/Statement.h>

#include "storage/binding.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"

namespace quell::storage {

namespace {
const std::string usage_columns = "input_tokens, output_tokens, cached_tokens, written_tokens, nanos";

const std::string most_used_text = std::to_string(most_used);

void bind_usage(binder& to, const model_usage& u) {
  for (const auto one : {u.input_tokens, u.output_tokens, u.cached_input_tokens, u.cache_written_tokens, u.cost_nanos})
    to.count(std::min(one, most_used));
}

/// Of an upsert: the sum of both rows.
std::string added(const std::string& column) {
  return column + " = min(" + column + " + excluded." + column + ", " + most_used_text + ")";
}

} // namespace

model_usage usage_from(columns& from) {
  model_usage u;
  for (auto* one : {&u.input_tokens, &u.output_tokens, &u.cached_input_tokens, &u.cache_written_tokens, &u.cost_nanos})
    *one = std::min(from.count(), most_used);
  return u;
}

std::string cost_sums() {
  std::string all = "sum(calls), sum(estimated)";
  // sum() fails beyond 64 bits; total() adds as floating point, which is exact up to 2^53. Rows that an earlier version
  // wrote can be negative.
  for (const char* column : {"input_tokens", "output_tokens", "cached_tokens", "written_tokens", "nanos"})
    all += std::string(", CAST(min(max(total(") + column + "), 0), " + most_used_text + ".0) AS INTEGER)";
  return all;
}

const std::string add_cost_sql =
    "INSERT INTO cost (day, scope, author, agent, model, calls, estimated, " + usage_columns +
    ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (day, scope, author, agent, model) DO UPDATE SET "
    "calls = calls + excluded.calls, estimated = estimated + excluded.estimated, " +
    added("input_tokens") + ", " + added("output_tokens") + ", " + added("cached_tokens") + ", " +
    added("written_tokens") + ", " + added("nanos");
const std::string prune_cost_sql = "DELETE FROM cost WHERE id IN (SELECT id FROM cost INDEXED BY cost_key "
                                   "WHERE day < ? LIMIT 4)";
const std::string put_turn_cost_sql =
    "INSERT OR REPLACE INTO turn_cost (turn, calls, estimated, " + usage_columns + ") VALUES (?,?,?,?,?,?,?,?)";
const std::string recovered_cost_sql =
    "SELECT day, scope, author, " + cost_sums() +
    " FROM cost INDEXED BY cost_key WHERE day >= (SELECT min(day) FROM (SELECT DISTINCT day FROM cost INDEXED BY "
    "cost_key ORDER BY day DESC LIMIT 3)) GROUP BY day, scope, author ORDER BY day";
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
