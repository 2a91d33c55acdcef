// Moves the WAL into the database beside the writer, on its own thread and connection, so that no commit waits for it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace SQLite {
class Database;
} // namespace SQLite

namespace quell::storage {

/// Moves the WAL into the database, and what comes meanwhile as far as that is little. Never blocks a writer or a
/// reader.
void move_all(SQLite::Database& database);

/// SQLite lets one connection write while another checkpoints (PASSIVE: it never blocks a writer or a reader). Under a
/// load that never pauses it cannot reach the WAL's very end; the writer moves the rest, see `committer`.
class checkpointer {
 public:
  explicit checkpointer(std::string database_path);
  ~checkpointer();

  /// Announces that the WAL has grown. Never blocks for long; calls during a checkpoint count as one. Any thread.
  void nudge();

 private:
  void work();

  const std::string path_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool wanted_ = false, closing_ = false;
  std::jthread thread_; // last: it uses all members above
};

} // namespace quell::storage
