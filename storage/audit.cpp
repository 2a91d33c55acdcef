// The chain, and reading the audit on a connection of its own: it is asked for rarely.
#include "storage/audit.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <array>
#include <stdexcept>

#include <openssl/evp.h>

#include "storage/binding.hpp"
#include "storage/faults.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"

namespace quell::storage {
namespace {

constexpr int busy_timeout_ms = 5'000;

audit_record read_entry(SQLite::Statement& row) {
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

} // namespace

const std::string newest_audit_sql = "SELECT n, hash FROM audit ORDER BY n DESC LIMIT 1";
const std::string put_audit_sql = "INSERT INTO audit (n, at, cancel, data, previous, hash) VALUES (?, ?, ?, ?, ?, ?)";
// Older than what meta says, seen from a new entry; the first that is young enough stops the search. At most 100 at a
// time, far more than come.
const std::string prune_audit_sql =
    "DELETE FROM audit WHERE (SELECT value FROM meta WHERE key = 'audit_keep') > 0 AND "
    "n < (SELECT n FROM audit WHERE at >= ?1 - (SELECT value FROM meta WHERE key = 'audit_keep') ORDER BY n LIMIT 1) "
    "AND n < (SELECT min(n) FROM audit) + 100";

std::string audit_origin() { return std::string(64, '0'); }

std::string audit_hash(const audit_record& entry) {
  const auto text = entry.previous + '\n' + std::to_string(entry.n) + '\n' +
                    std::to_string(entry.at.time_since_epoch().count()) + '\n' + entry.data;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("the audit cannot be chained: the library gives no SHA-256");
  constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += digits[digest.at(i) >> 4];
    hex += digits[digest.at(i) & 15];
  }
  return hex;
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

result<std::vector<audit_record>> read_audit(const std::string& directory, std::uint64_t after, std::uint32_t limit) {
  try {
    SQLite::Database database(directory + "/" + database_file, SQLite::OPEN_READONLY | SQLite::OPEN_NOMUTEX,
                              busy_timeout_ms);
    set_up_reader(database);
    SQLite::Statement rows(database,
                           "SELECT n, at, cancel, data, previous, hash FROM audit WHERE n > ? ORDER BY n LIMIT ?");
    binder(rows).count(after).count(limit);
    std::vector<audit_record> found;
    while (rows.executeStep()) found.push_back(read_entry(rows));
    return found;
  } catch (const std::exception& e) {
    return tl::unexpected(to_fault(e, directory, "read the audit"));
  }
}

result<void> keep_audit(const std::string& directory, milliseconds keep) {
  try {
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
