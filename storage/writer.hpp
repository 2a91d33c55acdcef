// Writes entries into rows: the statements of the only writing connection, prepared once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "storage/journal.hpp"

namespace SQLite {
class Database;
}

namespace quell::storage {

/// Used by one thread. Every function throws what SQLiteCpp throws, and `mismatch`.
class writer {
 public:
  explicit writer(SQLite::Database& database);
  ~writer();

  void begin(); ///< takes the write lock immediately
  void commit();
  void rollback() noexcept;
  /// Writes one entry inside the transaction.
  void apply(const entry& what);

  /// Moves the WAL's content into the database as far as readers allow; never waits for them. Returns the number of
  /// frames in the WAL.
  std::uint64_t checkpoint() noexcept;
  /// Frames in the WAL after the last commit.
  std::uint64_t wal_frames() const noexcept;
  /// Deletes the oldest events beyond the newest `keep`, at most `slice` of them, in its own transaction. Returns how
  /// many are left to delete.
  std::uint64_t prune_events(std::uint64_t keep, std::uint64_t slice);

 private:
  struct statements;
  SQLite::Database& database_;
  std::unique_ptr<statements> statements_;
};

} // namespace quell::storage
