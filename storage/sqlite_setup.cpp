// Settings of SQLite that hold for the whole process.
#include "storage/sqlite_setup.hpp"

#include <mutex>

#include <sqlite3.h>

namespace quell::storage {

void leave_memory_uncounted() {
  static std::once_flag once;
  // It is refused if SQLite is in use, which costs speed and nothing else.
  std::call_once(once, [] { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); });
}

} // namespace quell::storage
