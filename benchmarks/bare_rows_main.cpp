// bench_bare_rows SOURCE DIRECTORY OPERATIONS: the bare limit of storing external operations. Reads all operations and
// events of the store SOURCE into memory and writes them into a database of the same schema in DIRECTORY (WAL,
// synchronous=FULL), OPERATIONS in a commit, in two passes as quell does: each operation as a live one with its first
// events, then its end with its last event. Prints the operations a second of both passes together.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sqlite3.h>

namespace {

[[noreturn]] void fail(sqlite3* database, const char* what) {
  std::fprintf(stderr, "bench_bare_rows: %s: %s\n", what, sqlite3_errmsg(database));
  std::exit(1);
}

sqlite3* open_database(const std::string& path, int flags) {
  sqlite3* database = nullptr;
  if (sqlite3_open_v2(path.c_str(), &database, flags, nullptr) != SQLITE_OK) fail(database, path.c_str());
  return database;
}

void run(sqlite3* database, const std::string& sql) {
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(database, sql.c_str());
}

sqlite3_stmt* prepare(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) fail(database, sql.c_str());
  return statement;
}

/// All rows of a table, in memory.
struct table {
  std::vector<std::string> columns;
  std::vector<sqlite3_value*> values;

  std::size_t size() const { return values.size() / columns.size(); }
  sqlite3_value* at(std::size_t row, std::size_t column) const { return values[row * columns.size() + column]; }
};

table load(sqlite3* source, const std::string& name) {
  table all;
  auto* rows = prepare(source, "SELECT * FROM " + name + " ORDER BY rowid");
  const int count = sqlite3_column_count(rows);
  for (int i = 0; i < count; ++i) all.columns.emplace_back(sqlite3_column_name(rows, i));
  while (sqlite3_step(rows) == SQLITE_ROW)
    for (int i = 0; i < count; ++i) all.values.push_back(sqlite3_value_dup(sqlite3_column_value(rows, i)));
  sqlite3_finalize(rows);
  return all;
}

/// A statement that is run once for each row, with some of its columns.
class writer {
 public:
  writer(sqlite3* to, const table& rows, const std::string& sql, std::vector<std::string> columns)
      : to_(to), rows_(rows), statement_(prepare(to, sql)) {
    for (const auto& name : columns)
      columns_.push_back(
          static_cast<std::size_t>(std::find(rows.columns.begin(), rows.columns.end(), name) - rows.columns.begin()));
  }
  void write(std::size_t from, std::size_t until) {
    for (auto row = from; row < until; ++row) {
      int place = 0;
      for (const auto column : columns_) sqlite3_bind_value(statement_, ++place, rows_.at(row, column));
      if (sqlite3_step(statement_) != SQLITE_DONE) fail(to_, "write");
      sqlite3_reset(statement_);
    }
  }

 private:
  sqlite3* to_;
  const table& rows_;
  sqlite3_stmt* statement_;
  std::vector<std::size_t> columns_;
};

/// INSERT of all columns but `without`, which get the values of `with` (SQL).
writer inserter(sqlite3* to, const table& rows, const std::string& name, const std::vector<std::string>& without = {},
                const std::vector<std::string>& with = {}) {
  std::string names, marks;
  std::vector<std::string> bound;
  for (const auto& column : rows.columns) {
    const auto other = std::find(without.begin(), without.end(), column);
    names += (names.empty() ? "" : ",") + column;
    marks += (marks.empty() ? "" : ",") +
             (other == without.end() ? "?" : with[static_cast<std::size_t>(other - without.begin())]);
    if (other == without.end()) bound.push_back(column);
  }
  return {to, rows, "INSERT INTO " + name + " (" + names + ") VALUES (" + marks + ")", bound};
}

void copy_schema(sqlite3* source, sqlite3* to) {
  run(to, "PRAGMA journal_mode=WAL");
  run(to, "PRAGMA synchronous=FULL");
  auto* statements =
      prepare(source, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND type IN ('table', 'index') "
                      "AND tbl_name IN ('operation', 'event') ORDER BY rowid");
  while (sqlite3_step(statements) == SQLITE_ROW)
    run(to, reinterpret_cast<const char*>(sqlite3_column_text(statements, 0)));
  sqlite3_finalize(statements);
}

} // namespace

int main(int argc, char** argv) {
  const std::size_t each = argc == 4 ? std::strtoul(argv[3], nullptr, 10) : 0;
  if (each == 0) {
    std::fprintf(stderr, "usage: bench_bare_rows SOURCE DIRECTORY OPERATIONS\n");
    return 2;
  }
  auto* source = open_database(argv[1], SQLITE_OPEN_READONLY);
  auto* to = open_database(std::string(argv[2]) + "/bare.sqlite", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  copy_schema(source, to);
  const auto operations = load(source, "operation"), events = load(source, "event");
  auto begun =
      inserter(to, operations, "operation", {"status", "ended_seq", "ended_at", "result"}, {"1", "0", "NULL", "NULL"});
  writer ended(to, operations, "UPDATE operation SET status = ?, ended_seq = ?, ended_at = ?, result = ? WHERE seq = ?",
               {"status", "ended_seq", "ended_at", "result", "seq"});
  auto reported = inserter(to, events, "event");
  const auto count = operations.size();
  const auto of_each = count ? events.size() / count : 0; // created, started, completed
  if (of_each < 2) {
    std::fprintf(stderr, "bench_bare_rows: %zu operations have %zu events\n", count, events.size());
    return 1;
  }
  const auto before = std::chrono::steady_clock::now();
  std::size_t event = 0;
  for (const bool is_first : {true, false})
    for (std::size_t at = 0; at < count; at += each) {
      const auto until = std::min(count, at + each);
      const auto events_until = std::min(events.size(), event + (until - at) * (is_first ? of_each - 1 : 1));
      run(to, "BEGIN IMMEDIATE");
      (is_first ? begun : ended).write(at, until);
      reported.write(event, events_until);
      run(to, "COMMIT");
      event = events_until;
    }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  std::printf("%.1f\n", static_cast<double>(count) / took.count());
  return 0;
}
