// The steps of a start on the database, before anything else uses it.
#include "storage/recovery.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include <algorithm>

#include "controller/store_code.hpp"
#include "storage/binding.hpp"
#include "storage/live_reader.hpp"
#include "storage/live_rows.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"

namespace quell::storage {
namespace {

std::uint64_t number(SQLite::Database& database, const char* sql) {
  SQLite::Statement statement(database, sql);
  return statement.executeStep() ? columns(statement).count() : 0;
}

std::uint64_t highest_seq_seen(SQLite::Database& database) {
  return std::max({number(database, "SELECT max(seq) FROM operation"), number(database, "SELECT max(seq) FROM cancel"),
                   number(database, "SELECT max(seq) FROM message")});
}

template <class Record, class Read>
void read_all(SQLite::Database& database, const std::string& sql, std::vector<Record>& into, Read read) {
  SQLite::Statement rows(database, sql);
  while (rows.executeStep()) into.push_back(read(rows));
}

recovered_state recover_other_rows(SQLite::Database& database) {
  recovered_state state;
  {
    SQLite::Statement cluster(database, "SELECT value FROM meta WHERE key = 'cluster'");
    if (!cluster.executeStep()) throw corrupt_row("the cluster's id is missing");
    state.cluster = columns(cluster).id<cluster_id>();
  }
  state.epoch = number(database, "SELECT value FROM meta WHERE key = 'epoch'");
  state.next_seq = number(database, "SELECT value FROM meta WHERE key = 'seq_limit'");
  state.restored_below = number(database, "SELECT value FROM meta WHERE key = 'restored_below'");
  state.next_event = number(database, "SELECT value FROM meta WHERE key = 'event_limit'");
  read_all(database, "SELECT " + cancel_columns + " FROM cancel INDEXED BY cancel_open WHERE status <> 2 ORDER BY seq",
           state.open_cancels, read_cancel);
  read_all(database, recovered_cutoffs_sql, state.cutoffs, read_cutoff);
  read_all(database, "SELECT " + tombstone_columns + " FROM tombstone", state.tombstones, read_tombstone);
  read_all(database, "SELECT " + worker_columns + " FROM worker ORDER BY name", state.workers, read_worker);
  read_all(database, "SELECT " + token_columns + " FROM token ORDER BY id", state.tokens, read_token);
  read_all(database, recovered_cost_sql, state.costs, read_recovered_cost);
  read_all(database, "SELECT " + turn_cost_columns + " FROM turn_cost", state.turn_costs, read_turn_cost);
  return state;
}

} // namespace

result<void> begin_epoch(SQLite::Database& database, const std::string& directory, store_origin origin) {
  const bool restored = origin == store_origin::backup;
  switch (migrate(database)) {
  case schema_state::ready:
    break;
  case schema_state::foreign:
    return failure(store_code::database_corrupt,
                   directory + "/" + database_file +
                       " is a database, but not quell's. Move it away, or name another state directory.");
  case schema_state::newer:
    return failure(store_code::newer_schema,
                   directory + "/" + database_file +
                       " was written by a newer quelld. Start that version, or restore a backup from before it.");
  }
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  database.exec("INSERT INTO meta VALUES ('epoch', 0), ('seq_limit', 1), ('event_limit', 1) ON CONFLICT DO NOTHING");
  const auto fresh = cluster_id::fresh();
  SQLite::Statement cluster(database, "INSERT INTO meta VALUES ('cluster', ?) ON CONFLICT DO NOTHING");
  binder(cluster).id(fresh);
  run(cluster);
  SQLite::Statement epoch(database, "UPDATE meta SET value = value + ? WHERE key = 'epoch'");
  binder(epoch).count(restored ? restore_epoch_jump : 1);
  run(epoch);
  // Numbers that were handed out but never reached this copy of the file must not be handed out again.
  const auto jump = restored ? restore_jump : 0;
  SQLite::Statement raise(database, "UPDATE meta SET value = max(value, ?) + ? WHERE key = ?");
  const auto raise_to = [&](const char* key, std::uint64_t least) {
    const std::string name = key;
    binder(raise).count(least).count(jump).text(name);
    run(raise);
  };
  raise_to("seq_limit", highest_seq_seen(database) + 1);
  raise_to("event_limit", number(database, "SELECT max(id) FROM event") + 1);
  if (restored)
    database.exec("INSERT OR REPLACE INTO meta SELECT 'restored_below', value FROM meta WHERE key = 'seq_limit'");
  transaction.commit();
  return {};
}

recovered_state recover(SQLite::Database& database) {
  auto state = recover_other_rows(database);
  live_reader reader(database);
  while (auto part = reader.part_behind(state.live.empty() ? 0 : state.live.back().seq)) reader.read(*part, state.live);
  return state;
}

recovered_state recover(SQLite::Database& database, const std::string& directory) {
  auto state = recover_other_rows(database);
  live_reader reader(database);
  const auto first = reader.part_behind(0);
  if (!first) return state;
  reader.read(*first, state.live);
  if (first->rows < live_reader::most_in_part) return state;
  state.more_live = [rows = std::make_shared<live_rows>(directory, first->last)] { return rows->next(); };
  return state;
}

} // namespace quell::storage
