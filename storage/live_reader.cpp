// Rows reach the reader as arguments of a function of SQL: a row has more than forty columns, and each call for one of
// them from outside costs more than the column.
#include "storage/live_reader.hpp"

#include <SQLiteCpp/Database.h>
#include <sqlite3.h>

#include "storage/binding.hpp"
#include "storage/faults.hpp"
#include "storage/rows.hpp"

namespace quell::storage {
namespace {

constexpr const char* function_name = "take_live_row";

std::string select_rows(const char* index) {
  return std::string("SELECT ") + function_name + "(" + operation_columns + ") FROM operation " + index +
         " WHERE ended_seq = 0 AND seq BETWEEN ? AND ? ORDER BY seq";
}

} // namespace

live_reader::live_reader(SQLite::Database& database) : database_(database) {
  // Not through SQLiteCpp, which offers no arguments in one array.
  const auto code = sqlite3_create_function_v2(database.getHandle(), function_name, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                               this, &live_reader::take_row, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw SQLite::Exception(database.getHandle(), code);
  full_.emplace(database, "SELECT seq FROM operation INDEXED BY operation_live WHERE ended_seq = 0 AND seq > ? "
                          "ORDER BY seq LIMIT 1 OFFSET ?");
  next_.emplace(database,
                "SELECT max(seq), count(*) FROM operation INDEXED BY operation_live WHERE ended_seq = 0 AND seq > ?");
  // Where nearly all rows are live, going from row to row is faster than looking up each one that the index names.
  dense_.emplace(database, select_rows("NOT INDEXED"));
  sparse_.emplace(database, select_rows("INDEXED BY operation_live"));
}

live_reader::~live_reader() {
  full_.reset();
  next_.reset();
  dense_.reset();
  sparse_.reset();
  sqlite3_create_function_v2(database_.getHandle(), function_name, -1, SQLITE_UTF8, nullptr, nullptr, nullptr, nullptr,
                             nullptr);
}

std::optional<live_part> live_reader::part_behind(std::uint64_t seq) {
  live_part part{seq + 1, 0, 0};
  binder(*full_).count(seq).count(most_in_part - 1);
  if (full_->executeStep()) {
    part.last = columns(*full_).count();
    part.rows = most_in_part;
  }
  full_->reset();
  if (part.rows > 0) return part;
  binder(*next_).count(seq);
  if (next_->executeStep()) { // fewer are left
    columns found(*next_);
    part.last = found.count();
    part.rows = found.count();
  }
  next_->reset();
  if (part.rows == 0) return std::nullopt;
  return part;
}

void live_reader::read(const live_part& part, std::vector<operation_record>& into) {
  const bool is_dense = part.last - part.first < 2 * part.rows;
  auto& rows = is_dense ? *dense_ : *sparse_;
  binder(rows).count(part.first).count(part.last);
  into_ = &into;
  failure_ = nullptr;
  if (into.empty()) into.reserve(part.rows);
  try {
    while (rows.executeStep()) {
    }
  } catch (const SQLite::Exception&) {
    rows.tryReset();
    if (failure_) std::rethrow_exception(failure_);
    throw;
  }
  rows.reset();
}

void live_reader::take_row(sqlite3_context* context, int, sqlite3_value** row) {
  auto& self = *static_cast<live_reader*>(sqlite3_user_data(context));
  auto& record = self.into_->emplace_back();
  try {
    read_operation(columns(row), record);
    return;
  } catch (const corrupt_row& e) {
    self.failure_ =
        std::make_exception_ptr(corrupt_row("row " + std::to_string(record.seq) + " of table operation: " + e.what()));
  } catch (...) {
    self.failure_ = std::current_exception();
  }
  // No exception may pass through SQLite's frames.
  sqlite3_result_error(context, "the row cannot be read", -1);
}

} // namespace quell::storage
