// SQLite's result codes as faults that a person can act on.
#pragma once

#include <exception>
#include <string>

#include "protocol/fault.hpp"

namespace quell::storage {

/// A row that cannot be what we wrote. Thrown inside the room only, becomes `database_corrupt`.
struct corrupt_row : std::exception {
  explicit corrupt_row(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// Something that the caller asked to write contradicts what stands on disk. Becomes `store_mismatch`.
struct mismatch : std::exception {
  explicit mismatch(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// The fault for an exception that SQLiteCpp or this room threw while it did `doing` on the database in `directory`.
/// Codes: `disk_full`, `read_only`, `database_locked`, `database_corrupt`, `disk_error`, `store_mismatch`,
/// `store_error`.
fault to_fault(const std::exception& e, const std::string& directory, const std::string& doing);

/// The disk (or quota) is full: worth another try when the ballast is gone.
bool is_out_of_space(const std::exception& e);
/// Nothing that follows may be trusted until the file has been opened anew.
bool is_fatal(const std::exception& e);
bool is_locked(const std::exception& e);

} // namespace quell::storage
