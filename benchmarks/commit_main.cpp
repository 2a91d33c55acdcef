// bench_commit DIRECTORY: one durable SQLite commit (WAL, synchronous=FULL, one small row) for each line read from
// stdin; answers with its milliseconds. The caller interleaves these with its measurements.
#include <chrono>
#include <cstdio>
#include <string>

#include <sqlite3.h>

namespace {

bool run(sqlite3* database, const char* sql) {
  char* what = nullptr;
  if (sqlite3_exec(database, sql, nullptr, nullptr, &what) == SQLITE_OK) return true;
  std::fprintf(stderr, "bench_commit: %s: %s\n", sql, what ? what : "unknown error");
  sqlite3_free(what);
  return false;
}

bool insert(sqlite3* database, sqlite3_stmt* statement, long number) {
  if (!run(database, "BEGIN IMMEDIATE")) return false;
  sqlite3_bind_int64(statement, 1, number);
  sqlite3_bind_text(statement, 2, "team/build/one-small-row-of-a-cancel", -1, SQLITE_STATIC);
  const bool done = sqlite3_step(statement) == SQLITE_DONE;
  sqlite3_reset(statement);
  return run(database, "COMMIT") && done;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_commit DIRECTORY   (a line on stdin = one commit)\n");
    return 2;
  }
  const auto path = std::string(argv[1]) + "/bench-commit.sqlite";
  sqlite3* database = nullptr;
  if (sqlite3_open(path.c_str(), &database) != SQLITE_OK) {
    std::fprintf(stderr, "bench_commit: cannot open %s: %s\n", path.c_str(), sqlite3_errmsg(database));
    return 1;
  }
  if (!run(database, "PRAGMA journal_mode=WAL") || !run(database, "PRAGMA synchronous=FULL") ||
      !run(database, "CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, scope TEXT NOT NULL)"))
    return 1;
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, "INSERT OR REPLACE INTO rows VALUES (?, ?)", -1, &statement, nullptr);
  char line[64];
  long number = 0;
  while (std::fgets(line, sizeof line, stdin)) {
    const auto before = std::chrono::steady_clock::now();
    if (!insert(database, statement, ++number)) return 1;
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - before;
    std::printf("%.4f\n", took.count());
    std::fflush(stdout);
  }
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return 0;
}
