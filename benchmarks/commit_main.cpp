// bench_commit DIRECTORY: one durable SQLite commit (WAL, synchronous=FULL, one small row) for each line read from
// stdin; answers with its milliseconds. The caller interleaves these with its measurements. bench_commit DIRECTORY
// write: the disk's own limit, 4 KiB written to a file that was allocated beforehand, and fdatasync.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

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

/// For each line on stdin, as many milliseconds as `step` takes; false if a step fails.
template <class Step>
bool answer_lines(Step step) {
  long number = 0;
  for (char line[64]; std::fgets(line, sizeof line, stdin);) {
    const auto before = std::chrono::steady_clock::now();
    if (!step(++number)) return false;
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - before;
    std::printf("%.4f\n", took.count());
    std::fflush(stdout);
  }
  return true;
}

int plain_writes(const std::string& directory) {
  constexpr long blocks = 1024, block_bytes = 4096;
  const std::string block(block_bytes, 'x');
  const int fd = open((directory + "/bench-write").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const auto write_block = [&](long i) {
    return pwrite(fd, block.data(), block_bytes, (i % blocks) * block_bytes) == block_bytes;
  };
  bool good = fd >= 0;
  for (long i = 0; good && i < blocks; ++i) good = write_block(i);
  good = good && fsync(fd) == 0 && answer_lines([&](long i) { return write_block(i) && fdatasync(fd) == 0; });
  if (!good) std::perror("bench_commit: cannot write");
  close(fd);
  return good ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[2], "write") == 0) return plain_writes(argv[1]);
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_commit DIRECTORY [write]   (a line on stdin = one commit, or one write)\n");
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
  const bool good = answer_lines([&](long number) { return insert(database, statement, number); });
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return good ? 0 : 1;
}
