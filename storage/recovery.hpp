// What a start does with the database before anything else: migrate, raise the epoch, read what must be in memory.
#pragma once

#include <string>

#include "protocol/fault.hpp"
#include "storage/journal.hpp"

namespace SQLite {
class Database;
}

namespace quell::storage {

/// How far a restored backup jumps: above everything that the lost time can have handed out, far below 2^53.
inline constexpr std::uint64_t restore_jump = std::uint64_t{1} << 32;
/// The same for epochs, of which each start takes one.
inline constexpr std::uint64_t restore_epoch_jump = std::uint64_t{1} << 20;

/// Migrates, and raises the epoch durably (on the first start: makes the cluster's id). Throws SQLite::Exception;
/// faults: `database_corrupt`, `newer_schema`.
result<void> begin_epoch(SQLite::Database& database, const std::string& directory, bool restored);

/// Reads everything that lives. Throws SQLite::Exception and `corrupt_row`.
recovered_state recover(SQLite::Database& database);

} // namespace quell::storage
