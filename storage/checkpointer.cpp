// Moves the WAL into the database beside the writer.
#include "storage/checkpointer.hpp"

#include <SQLiteCpp/Database.h>
#include <sqlite3.h>

#include <optional>

namespace quell::storage {

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
      sqlite3_wal_checkpoint_v2(database->getHandle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    } catch (const std::exception&) {
      // Out of descriptors or memory: the WAL keeps everything, the next nudge retries, and the writer checkpoints when
      // the WAL gets long.
      database.reset();
    }
    guard.lock();
  }
}

} // namespace quell::storage
