// Moves the WAL into the database beside the writer.
#include "storage/checkpointer.hpp"

#include <SQLiteCpp/Database.h>
#include <sqlite3.h>

#include <optional>

namespace quell::storage {
namespace {

/// The next commit begins the WAL anew only if nothing is left in it. A pass moves what was there at its beginning;
/// what came meanwhile is little if the writer pauses, and further passes end it. So the WAL stays in the space that
/// was prepared. Under load more comes, and further passes would only delay commits.
constexpr int most_passes = 6, little_frames = 200;

} // namespace

void move_all(SQLite::Database& database) {
  int before = 0;
  for (int pass = 0; pass < most_passes; ++pass) {
    int frames = 0, moved = 0;
    const auto code =
        sqlite3_wal_checkpoint_v2(database.getHandle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &frames, &moved);
    if (code != SQLITE_OK || moved < frames) return; // a reader still needs the pages of before
    if (pass > 0 && (frames <= before || frames - before > little_frames)) return;
    before = frames;
  }
}

checkpointer::checkpointer(std::string database_path) : path_(std::move(database_path)), thread_([this] { work(); }) {}

checkpointer::~checkpointer() {
  {
    const std::lock_guard guard(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
}

void checkpointer::nudge() {
  {
    const std::lock_guard guard(mutex_);
    wanted_ = true;
  }
  wake_.notify_one();
}

void checkpointer::work() {
  std::optional<SQLite::Database> database;
  std::unique_lock guard(mutex_);
  while (true) {
    wake_.wait(guard, [this] { return wanted_ || closing_; });
    if (closing_) return;
    wanted_ = false;
    guard.unlock();
    try {
      if (!database) {
        database.emplace(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX);
        database->exec("PRAGMA synchronous=FULL");
      }
      move_all(*database);
    } catch (const std::exception&) {
      // Out of descriptors or memory: the WAL keeps everything, the next nudge retries, and the writer checkpoints when
      // the WAL gets long.
      database.reset();
    }
    guard.lock();
  }
}

} // namespace quell::storage
