// After a checkpoint the next commit writes the WAL from its beginning again, although others came meanwhile.
#include "storage/checkpointer.hpp"

#include <SQLiteCpp/Database.h>
#include <sqlite3.h>

#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "storage/schema.hpp"
#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

namespace {

std::function<void(sqlite3_int64 at)> before_write; ///< of a page of the database by the checkpoint

/// A database with many frames in its WAL, and a second connection that moves them.
struct long_wal {
  temp_directory directory;
  const std::string path = directory / "quell.db";
  SQLite::Database writing{path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
  int frames = 0; ///< after the last commit
  SQLite::Database moving{path, SQLite::OPEN_READWRITE};
  sqlite3_io_methods hooked{};
  static inline const sqlite3_io_methods* of_disk = nullptr;

  long_wal() {
    set_up_writer(writing);
    const auto count = [](void* to, sqlite3*, const char*, int now) {
      *static_cast<int*>(to) = now;
      return SQLITE_OK;
    };
    sqlite3_wal_hook(writing.getHandle(), count, &frames);
    writing.exec("CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)");
    while (frames < 300) commit();
    moving.exec("SELECT count(*) FROM sqlite_schema"); // opens the file
    sqlite3_file* file = nullptr;
    REQUIRE(sqlite3_file_control(moving.getHandle(), "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK);
    of_disk = file->pMethods;
    hooked = *of_disk;
    hooked.xWrite = [](sqlite3_file* to, const void* bytes, int size, sqlite3_int64 at) {
      if (before_write) before_write(at);
      return of_disk->xWrite(to, bytes, size, at);
    };
    file->pMethods = &hooked;
  }
  ~long_wal() { before_write = nullptr; }

  void commit(int rows = 1) {
    writing.exec("BEGIN");
    for (int i = 0; i < rows; ++i) writing.exec("INSERT INTO t(text) VALUES (hex(zeroblob(1500)))");
    writing.exec("COMMIT");
  }

  std::string integrity() { return writing.execAndGet("PRAGMA integrity_check").getString(); }
};

} // namespace

TEST_CASE("a commit during the checkpoint leaves nothing behind in the WAL") {
  long_wal w;
  int others = 2; // in the first pass, and in the second
  before_write = [&](sqlite3_int64) {
    if (others == 0) return;
    --others;
    const auto again = std::exchange(before_write, nullptr);
    w.commit();
    before_write = again;
  };
  move_all(w.moving);
  CHECK(others == 0);
  w.commit();
  CHECK(w.frames < 10);
  CHECK(w.integrity() == "ok");
}

TEST_CASE("a checkpoint gives up the end of a WAL that grows too fast") {
  long_wal w;
  int passes = 0;
  sqlite3_int64 last = 0;
  before_write = [&](sqlite3_int64 at) {
    const bool begins_pass = passes == 0 || at <= last; // a pass writes the pages in their order
    last = at;
    if (!begins_pass) return;
    ++passes;
    const auto again = std::exchange(before_write, nullptr);
    w.commit(500);
    before_write = again;
  };
  move_all(w.moving);
  before_write = nullptr;
  CHECK(passes == 2);
  w.commit();
  CHECK(w.frames > 300);
  CHECK(w.integrity() == "ok");
}

TEST_CASE("a checkpoint waits for no reader") {
  long_wal w;
  SQLite::Database reading(w.path, SQLite::OPEN_READONLY);
  reading.exec("BEGIN; SELECT count(*) FROM t");
  w.commit();
  move_all(w.moving);
  w.commit();
  CHECK(w.frames > 300);
  reading.exec("ROLLBACK");
  move_all(w.moving);
  w.commit();
  CHECK(w.frames < 10);
}
