// The tables of quell.db, their migrations, and the setup of a connection to it.
#pragma once

#include <string>

namespace SQLite {
class Database;
}

namespace quell::storage {

/// Name of the database inside the state directory.
inline constexpr const char* database_file = "quell.db";
/// `PRAGMA user_version` that this build writes.
inline constexpr int schema_version = 10;
/// `PRAGMA application_id`: "quel".
inline constexpr int application_id = 0x7175656c;

/// Scopes are stored with a `/` at the end, so that a scope and everything below it are one range: ["team/a/",
/// "team/a0"). `team/ab/` is outside.
std::string stored_scope(const std::string& scope);
/// The first text above that range. `stored` ends with '/'.
std::string scope_range_end(std::string stored);

/// Sets up the writer's connection: WAL, synchronous=FULL, no automatic checkpoint. Throws SQLite::Exception.
void set_up_writer(SQLite::Database& database);
/// The kind of file that `migrate` found.
enum class schema_state { ready, foreign, newer };
/// Brings the tables to `schema_version`, in one transaction. `foreign`: the file is not one of our stores. Throws
/// SQLite::Exception.
schema_state migrate(SQLite::Database& database);

/// Sets up a reader's connection: query only, and the function `has_label(labels, key, value)`. Throws
/// SQLite::Exception.
void set_up_reader(SQLite::Database& database);

} // namespace quell::storage
