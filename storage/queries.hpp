// The store's rows on one read-only connection.
#pragma once

#include <memory>
#include <string>

#include "controller/store_reader.hpp"
#include "storage/record_names.hpp"

namespace SQLite {
class Database;
}

namespace quell::storage {

/// Any thread may open; what is opened is used by one thread at a time.
result<std::unique_ptr<controller::store_reader>> open_reader(const std::string& directory);
result<std::unique_ptr<controller::limited_store_reader>> open_limited_reader(const std::string& directory);

/// Reads on a connection that somebody else owns and that outlives this: for one who reads between its own commits, on
/// the same thread.
std::unique_ptr<controller::store_reader> queries_on(SQLite::Database& database, const std::string& directory);

/// The name of the output folder inside the state directory; its files are the output store's business.
inline constexpr const char* output_folder = "output";

} // namespace quell::storage
