// Space for the write-ahead log, taken before commits need it.
#pragma once

#include <cstdint>
#include <string>

namespace quell::storage {

/// Fills the WAL beside `database_path` with zeros from its end up to `bytes`, durably. A commit then overwrites blocks
/// that the file already has: its fdatasync writes data alone, not the file's new size and blocks, which takes about a
/// third of the time. SQLite ignores what follows the last valid frame. Nothing may be written to the database
/// meanwhile. Does nothing if the WAL does not exist or is long enough; an error costs speed and nothing else.
void prepare_wal(const std::string& database_path, std::uint64_t bytes) noexcept;

} // namespace quell::storage
