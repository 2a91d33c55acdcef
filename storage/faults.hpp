// Turns SQLite's result codes into faults that a person can act on.
#pragma once

#include <exception>
#include <string>

#include "protocol/fault.hpp"

namespace quell::storage {

/// A row that this store cannot have written. Thrown inside the room only; becomes `database_corrupt`.
struct corrupt_row : std::exception {
  explicit corrupt_row(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// A write that the caller asked for contradicts the rows on disk. Becomes `store_mismatch`.
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

/// True if the disk (or quota) is full: the write can be retried after the ballast is given up.
bool is_out_of_space(const std::exception& e);
/// True if nothing that follows can be trusted until the file has been reopened.
bool is_fatal(const std::exception& e);
bool is_locked(const std::exception& e);

} // namespace quell::storage
