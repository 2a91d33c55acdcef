// Turns SQLite's result codes into faults that a person can act on.
#include "storage/faults.hpp"

#include <SQLiteCpp/Exception.h>
#include <sqlite3.h>

#include "controller/store_code.hpp"

namespace quell::storage {
namespace {

int extended_code(const std::exception& e) {
  const auto* sqlite = dynamic_cast<const SQLite::Exception*>(&e);
  if (!sqlite) return SQLITE_OK;
  return sqlite->getExtendedErrorCode() > 0 ? sqlite->getExtendedErrorCode() : sqlite->getErrorCode();
}

int primary_code(const std::exception& e) { return extended_code(e) & 0xff; }

} // namespace

bool is_out_of_space(const std::exception& e) {
  switch (extended_code(e)) {
  case SQLITE_FULL:
  case SQLITE_IOERR_WRITE:   // reported for an exceeded quota
  case SQLITE_IOERR_SHMSIZE: // the shared index of the WAL could not grow
    return true;
  default:
    return false;
  }
}

bool is_fatal(const std::exception& e) {
  if (dynamic_cast<const corrupt_row*>(&e)) return true;
  switch (primary_code(e)) {
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
  case SQLITE_IOERR:
    return true;
  default:
    return false;
  }
}

bool is_locked(const std::exception& e) { return primary_code(e) == SQLITE_BUSY || primary_code(e) == SQLITE_LOCKED; }

fault to_fault(const std::exception& e, const std::string& directory, const std::string& doing) {
  const std::string where = "could not " + doing + " in " + directory + ": ";
  const std::string detail = e.what();
  if (dynamic_cast<const corrupt_row*>(&e))
    return failure_of(store_code::database_corrupt,
                      where + detail + ". Restore quell.db from a backup and start with `quelld --restored`.");
  if (dynamic_cast<const mismatch*>(&e)) return failure_of(store_code::store_mismatch, where + detail);
  if (is_out_of_space(e))
    return failure_of(store_code::disk_full,
                      where + "the disk is full (" + detail + "). Free some space; nothing of this was written.");
  switch (primary_code(e)) {
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return failure_of(store_code::database_locked,
                      where + "another process holds quell.db locked (" + detail +
                          "). Close it (a sqlite3 shell, a backup program) and try again.");
  case SQLITE_READONLY:
  case SQLITE_CANTOPEN:
  case SQLITE_PERM:
  case SQLITE_AUTH:
    return failure_of(store_code::read_only,
                      where + detail + ". The state directory must be writable for the user that runs quelld.");
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
    return failure_of(store_code::database_corrupt,
                      where + "quell.db is damaged or no database of ours (" + detail +
                          "). Restore it from a backup and start with `quelld --restored`.");
  case SQLITE_IOERR:
    return failure_of(store_code::disk_error, where + "the disk reported an error (" + detail +
                                                  "). Look at the system's log, then start quelld again.");
  default:
    return failure_of(store_code::store_error, where + detail);
  }
}

} // namespace quell::storage
