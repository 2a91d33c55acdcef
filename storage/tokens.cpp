// Opens a separate reader for one row.
#include "storage/tokens.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "storage/binding.hpp"
#include "storage/faults.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"

namespace quell::storage {

result<std::optional<token_record>> token_of_hash(const std::string& directory, const std::string& hash) {
  try {
    constexpr int busy_timeout_ms = 1'000;
    SQLite::Database database(directory + "/" + database_file, SQLite::OPEN_READONLY | SQLite::OPEN_NOMUTEX,
                              busy_timeout_ms);
    set_up_reader(database);
    SQLite::Statement find(database, "SELECT " + token_columns + " FROM token WHERE hash = ?");
    binder(find).text(hash);
    if (!find.executeStep()) return std::nullopt;
    return read_token(find);
  } catch (const std::exception& e) {
    return tl::unexpected(to_fault(e, directory, "look for a token"));
  }
}

} // namespace quell::storage
