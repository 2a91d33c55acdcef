// The audit chain: how entries are written and read.
#include "storage/audit.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "protocol/sha256.hpp"
#include "storage/binding.hpp"
#include "storage/faults.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"
#include "storage/sqlite_setup.hpp"

namespace quell::storage {

audit_record read_audit(SQLite::Statement& row) {
  columns from(row);
  audit_record entry;
  entry.n = from.count();
  entry.at = from.time();
  entry.cancel = from.maybe_id<cancel_id>();
  entry.data = from.text();
  entry.previous = from.text();
  entry.hash = from.text();
  return entry;
}

const std::string audit_columns = "n, at, cancel, data, previous, hash";
const std::string newest_audit_sql = "SELECT n, hash FROM audit ORDER BY n DESC LIMIT 1";
const std::string put_audit_sql = "INSERT INTO audit (n, at, cancel, data, previous, hash) VALUES (?, ?, ?, ?, ?, ?)";
// Entries older than meta's `keep`, seen from a new entry; the first entry that is young enough stops the search. At
// most 100 at a time, far more than are added.
const std::string prune_audit_sql =
    "DELETE FROM audit WHERE (SELECT value FROM meta WHERE key = 'audit_keep') > 0 AND "
    "n < (SELECT n FROM audit WHERE at >= ?1 - (SELECT value FROM meta WHERE key = 'audit_keep') ORDER BY n LIMIT 1) "
    "AND n < (SELECT min(n) FROM audit) + 100";

std::string audit_origin() { return std::string(64, '0'); }

std::string audit_hash(const audit_record& entry) {
  const auto text = entry.previous + '\n' + std::to_string(entry.n) + '\n' +
                    std::to_string(entry.at.time_since_epoch().count()) + '\n' + entry.data;
  return sha256_hex(text);
}

void append_audit(SQLite::Statement& newest, SQLite::Statement& put, SQLite::Statement& prune,
                  const event_record& record) {
  audit_record entry;
  entry.previous = audit_origin();
  if (newest.executeStep()) {
    columns last(newest);
    entry.n = last.count();
    entry.previous = last.text();
  }
  newest.reset();
  ++entry.n;
  entry.at = record.at;
  entry.cancel = record.cancel;
  entry.data = record.data;
  entry.hash = audit_hash(entry);
  binder to(put);
  to.count(entry.n).time(entry.at).id(entry.cancel).text(entry.data).text(entry.previous).text(entry.hash);
  run(put);
  binder(prune).time(entry.at);
  run(prune);
}

result<void> keep_audit(const std::string& directory, milliseconds keep) {
  try {
    constexpr int busy_timeout_ms = 5'000;
    leave_memory_uncounted();
    SQLite::Database database(directory + "/" + database_file, SQLite::OPEN_READWRITE, busy_timeout_ms);
    SQLite::Statement put(database, "INSERT OR REPLACE INTO meta VALUES ('audit_keep', ?)");
    binder(put).integer(keep.count());
    run(put);
    return {};
  } catch (const std::exception& e) {
    return tl::unexpected(to_fault(e, directory, "write how long the audit is kept"));
  }
}

} // namespace quell::storage
