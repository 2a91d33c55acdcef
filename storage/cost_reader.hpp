// Sums of costs, grouped.
#pragma once

#include "controller/records/costs.hpp"

namespace SQLite {
class Database;
}

namespace quell::storage {

/// Call inside a read transaction, so that rows and total are from the same instant. Throws what SQLiteCpp throws, and
/// `corrupt_row`.
records::cost_page read_costs(SQLite::Database& database, const records::cost_filter& f);

} // namespace quell::storage
