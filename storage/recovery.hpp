// The steps of a start on the database, before anything else uses it: migrate, raise the epoch, read the state that
// must be in memory.
#pragma once

#include <string>

#include "protocol/fault.hpp"
#include "storage/journal.hpp"
#include "storage/store_origin.hpp"

namespace SQLite {
class Database;
}

namespace quell::storage {

/// The jump after the restore of a backup: above every number that can have been handed out in the lost time, far below
/// 2^53.
inline constexpr std::uint64_t restore_jump = std::uint64_t{1} << 32;
/// The same jump for epochs; each start uses one epoch.
inline constexpr std::uint64_t restore_epoch_jump = std::uint64_t{1} << 20;

/// Migrates, and raises the epoch durably (on the first start: makes the cluster's id). Throws SQLite::Exception;
/// faults: `database_corrupt`, `newer_schema`.
result<void> begin_epoch(SQLite::Database& database, const std::string& directory, store_origin origin);

/// Reads everything that is live. Throws SQLite::Exception and `corrupt_row`.
recovered_state recover(SQLite::Database& database);
/// The same, but of many live operations only the first: `more_live` reads the others on threads of its own. Until all
/// are read, nobody may write operations, and the database in `directory` must not be closed.
recovered_state recover(SQLite::Database& database, const std::string& directory);

} // namespace quell::storage
