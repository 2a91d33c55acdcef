// The tables of quell.db. Each index makes every insert slower, so an index exists only if a list could otherwise scan
// without bound:
//
//   operation_live    the live operations, by seq: recovery and live lists
//   operation_scope   one range per subtree of scopes; it contains ended_seq, so that "live at seq N" needs no row of
//                     the table
//   operation_unsuccessful   by status, the ended operations that did not complete: few, while a list of what completed
//                     meets its rows in any walk
//   operation_owner, operation_parent, operation_root, operation_error   equality; SQLite appends seq, so each one is
//                     in list order; roots, operations without a parent and those without an error are not in the last
//                     three
//   message_scope, message_aside   a conversation, in list order
//   message_asked     the message that a turn answers, to take it back
//   message_client    a client's own id, if there is one
//   message_unacknowledged   stops that still need an acknowledgement
//   call_answer       the calls of an answer, in their order
//   cost_key          the row that a cost is added to; the rows of some days
//
// Events have no index: they are few (keep_events) and are read by id.
#include "storage/schema.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <sqlite3.h>

#include <string_view>

#include "storage/pack.hpp"

namespace quell::storage {
namespace {

constexpr const char* version_1 = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE operation (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  as_of INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  name TEXT NOT NULL,
  scope TEXT NOT NULL,            -- with '/' at the end
  parent BLOB,
  root BLOB,                      -- NULL: itself
  detached INTEGER NOT NULL,
  owner TEXT NOT NULL,
  created_at INTEGER NOT NULL,    -- milliseconds since 1970, as all times
  status INTEGER NOT NULL,
  ended_seq INTEGER NOT NULL,     -- 0: lives
  worker TEXT,
  started_at INTEGER, deadline_at INTEGER, ended_at INTEGER,
  stop_cause INTEGER, stop_seq INTEGER, stop_cancel BLOB, signalled_at INTEGER, kill_at INTEGER,
  receipt INTEGER, proof INTEGER,
  exit_code INTEGER, exit_signal TEXT,
  error_code TEXT, error_message TEXT,
  own_end INTEGER, containment INTEGER, pid INTEGER,
  stdout_bytes INTEGER, stderr_bytes INTEGER, dropped_bytes INTEGER,
  result TEXT, late TEXT,
  labels BLOB,                    -- packed; NULL: none
  cold BLOB                       -- packed: title, owner's name, limits, task; NULL: in operation_bulk
) STRICT;
CREATE INDEX operation_live ON operation(seq) WHERE ended_seq = 0;
CREATE INDEX operation_scope ON operation(scope, ended_seq);
CREATE INDEX operation_owner ON operation(owner);
CREATE INDEX operation_parent ON operation(parent) WHERE parent IS NOT NULL;
CREATE INDEX operation_root ON operation(root) WHERE root IS NOT NULL;

-- A large task, kept apart so that each change of its operation's row does not write it again.
CREATE TABLE operation_bulk (seq INTEGER PRIMARY KEY, cold BLOB NOT NULL) STRICT;

CREATE TABLE cancel (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  target INTEGER NOT NULL,        -- 0 operation, 1 scope, 2 owner, 3 everything
  operation BLOB, scope TEXT, owner TEXT,
  place TEXT,                     -- where it belongs for lists: its scope, or that of its operation
  cutoff INTEGER NOT NULL,
  outcome INTEGER NOT NULL, status INTEGER NOT NULL,
  by_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  up_to_seq INTEGER,
  body BLOB NOT NULL              -- packed: reason, author, grace, report
) STRICT;
CREATE INDEX cancel_open ON cancel(seq) WHERE status <> 2;
CREATE INDEX cancel_place ON cancel(place) WHERE place IS NOT NULL;

CREATE TABLE cutoff (scope TEXT PRIMARY KEY, cutoff INTEGER NOT NULL, cancel BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE tombstone (
  id BLOB PRIMARY KEY, cancel BLOB NOT NULL, expires_at INTEGER NOT NULL, via_token TEXT NOT NULL, within TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE worker (name TEXT PRIMARY KEY, public_key TEXT NOT NULL, body BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE token (
  id BLOB PRIMARY KEY, name TEXT NOT NULL, role INTEGER NOT NULL, scope TEXT, hash TEXT NOT NULL,
  owner TEXT NOT NULL, owner_name TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER, last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE event (
  id INTEGER PRIMARY KEY, type TEXT NOT NULL, at INTEGER NOT NULL, scope TEXT,
  operation BLOB, root BLOB, cancel BLOB, worker TEXT, data TEXT NOT NULL
) STRICT;
)sql";

// The conversations. Texts are the last columns, so that the columns that queries check come before the overflow pages
// of a long text. No row here refers to `operation`: history outlives the operations that made it.
constexpr const char* version_3 = R"sql(
CREATE TABLE message (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  scope TEXT NOT NULL,            -- with '/' at the end
  role INTEGER NOT NULL,
  at INTEGER NOT NULL,
  turn BLOB,                      -- the turn or sub-agent that it belongs to
  aside INTEGER NOT NULL,         -- 1: of a sub-agent's conversation
  author TEXT, author_name TEXT,
  client_id TEXT,
  fingerprint TEXT,
  interrupted INTEGER NOT NULL,
  discarded INTEGER NOT NULL,
  input_tokens INTEGER, output_tokens INTEGER, cached_input_tokens INTEGER,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX message_scope ON message(scope) WHERE aside = 0;
CREATE INDEX message_aside ON message(turn) WHERE aside = 1;
CREATE INDEX message_asked ON message(turn) WHERE role = 0 AND turn IS NOT NULL;
CREATE INDEX message_client ON message(scope, client_id) WHERE client_id IS NOT NULL;

CREATE TABLE call (
  operation BLOB PRIMARY KEY,
  answer INTEGER NOT NULL,        -- seq of the message that made it
  position INTEGER NOT NULL,
  call TEXT NOT NULL,
  name TEXT NOT NULL,
  ok INTEGER, cancelled INTEGER,
  input TEXT NOT NULL,
  result TEXT                     -- NULL: open
) STRICT;
CREATE UNIQUE INDEX call_answer ON call(answer, position);
)sql";

// The decision about a message, repeated when the message comes again, and whether a stop was acknowledged: NULL if not
// applicable.
constexpr const char* version_4 = R"sql(
ALTER TABLE message RENAME COLUMN fingerprint TO decision;
UPDATE message SET decision = NULL;
ALTER TABLE message ADD COLUMN acknowledged INTEGER;
CREATE INDEX message_unacknowledged ON message(seq) WHERE acknowledged = 0;
)sql";

// The audit, separate from the events, which are kept by number: a client that makes many events must not push out the
// audit.
constexpr const char* version_5 = R"sql(
CREATE TABLE IF NOT EXISTS audit (
  n INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  cancel BLOB,
  data TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL              -- storage/audit.hpp
) STRICT;
)sql";

// Sums of what model calls used, by day; and of live turns.
constexpr const char* version_7 = R"sql(
CREATE TABLE IF NOT EXISTS cost (
  id INTEGER PRIMARY KEY,
  day INTEGER NOT NULL,           -- of UTC, since 1970
  scope TEXT NOT NULL,            -- with '/' at the end
  author TEXT NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL,
  calls INTEGER NOT NULL, estimated INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL, written_tokens INTEGER NOT NULL,
  nanos INTEGER NOT NULL          -- billionths of the currency of the prices
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS cost_key ON cost(day, scope, author, agent, model);
CREATE TABLE IF NOT EXISTS turn_cost (
  turn BLOB PRIMARY KEY,
  calls INTEGER NOT NULL, estimated INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL, written_tokens INTEGER NOT NULL,
  nanos INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
)sql";

// The inputs with which humans approved calls, where they changed them.
constexpr const char* version_8 = R"sql(
CREATE TABLE IF NOT EXISTS call_change (
  operation BLOB PRIMARY KEY,
  changed TEXT NOT NULL           -- JSON: the input, and who changed it
) STRICT, WITHOUT ROWID;
)sql";

// Without it a list of failed operations walks over all that completed. The condition is that of `unsuccessful_end`.
constexpr const char* version_9 = R"sql(
CREATE INDEX IF NOT EXISTS operation_unsuccessful ON operation(status) WHERE ended_seq <> 0 AND status <> 4;
)sql";

// Without it a list of what ended with a rare error walks over all others.
constexpr const char* version_10 = R"sql(
CREATE INDEX IF NOT EXISTS operation_error ON operation(error_code) WHERE error_code IS NOT NULL;
)sql";

/// SQL function: true if the packed map holds this key with this value.
void has_label(sqlite3_context* context, int, sqlite3_value** arguments) {
  const auto view = [&](int i) {
    const auto* data = static_cast<const char*>(sqlite3_value_blob(arguments[i]));
    return std::string_view(data ? data : "", static_cast<std::size_t>(sqlite3_value_bytes(arguments[i])));
  };
  unpacker labels(view(0));
  const auto key = view(1), value = view(2);
  bool found = false;
  if (sqlite3_value_type(arguments[0]) != SQLITE_NULL)
    for (auto left = labels.number(); left > 0 && labels.ok() && !found; --left) {
      const bool same_key = labels.view() == key;
      found = labels.view() == value && same_key && labels.ok();
    }
  sqlite3_result_int(context, found ? 1 : 0);
}

int pragma_number(SQLite::Database& database, const char* sql) {
  SQLite::Statement statement(database, sql);
  return statement.executeStep() ? statement.getColumn(0).getInt() : 0;
}

} // namespace

std::string stored_scope(const std::string& scope) { return scope + '/'; }

std::string scope_range_end(std::string stored) {
  stored.back() = '/' + 1;
  return stored;
}

void set_up_writer(SQLite::Database& database) {
  database.exec("PRAGMA journal_mode=WAL");
  database.exec("PRAGMA synchronous=FULL");
  database.exec("PRAGMA wal_autocheckpoint=0");        // quell checkpoints itself, when nothing waits
  database.exec("PRAGMA journal_size_limit=67108864"); // a WAL that grew under load is truncated again
  database.exec("PRAGMA cache_size=-32768");           // 32 MiB
  database.exec("PRAGMA temp_store=MEMORY");           // a full disk must not make a statement fail half way
}

schema_state migrate(SQLite::Database& database) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  const int version = pragma_number(database, "PRAGMA user_version");
  const int application = pragma_number(database, "PRAGMA application_id");
  const bool blank = version == 0 && pragma_number(database, "SELECT count(*) FROM sqlite_schema") == 0;
  if (!blank && application != application_id) return schema_state::foreign;
  if (version > schema_version) return schema_state::newer;
  if (version < 1) {
    database.exec(version_1);
    database.exec("PRAGMA application_id=" + std::to_string(application_id));
  }
  if (version < 2)
    for (const char* column : {"stop_reason", "stop_by", "stop_by_name"}) // for stops that are not cancels
      database.exec(std::string("ALTER TABLE operation ADD COLUMN ") + column + " TEXT");
  if (version < 3) database.exec(version_3);
  if (version < 4) database.exec(version_4);
  if (version < 5) database.exec(version_5);
  if (version < 6) database.exec("ALTER TABLE operation ADD COLUMN via_token TEXT"); // NULL: nobody's
  if (version < 7) database.exec(version_7);
  if (version < 8) database.exec(version_8);
  if (version < 9) database.exec(version_9);
  if (version < 10) database.exec(version_10);
  if (version < schema_version) database.exec("PRAGMA user_version=" + std::to_string(schema_version));
  transaction.commit();
  return schema_state::ready;
}

void set_up_reader(SQLite::Database& database) {
  database.exec("PRAGMA query_only=1");
  database.exec("PRAGMA cache_size=-8192");
  database.exec("PRAGMA temp_store=MEMORY");
  database.createFunction("has_label", 3, true, nullptr, has_label);
}

} // namespace quell::storage
