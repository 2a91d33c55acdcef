// Binds values to the parameters of a statement and reads values from the columns of a row.
#include "storage/binding.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <sqlite3.h>

namespace quell::storage {

binder& binder::integer(std::int64_t value) {
  statement_.bind(next_++, value);
  return *this;
}

binder& binder::text(const std::string& value) {
  statement_.bindNoCopy(next_++, value);
  return *this;
}

binder& binder::bytes(const void* data, std::size_t size) {
  statement_.bindNoCopy(next_++, data, static_cast<int>(size));
  return *this;
}

binder& binder::nothing() {
  statement_.bind(next_++);
  return *this;
}

std::int64_t columns::integer() {
  const int at = next_++;
  return row_ ? sqlite3_value_int64(row_[at]) : statement_->getColumn(at).getInt64();
}

std::string columns::text() { return std::string(view()); }

std::string_view columns::view() {
  const int at = next_++;
  if (row_) {
    const auto* data = static_cast<const char*>(sqlite3_value_blob(row_[at]));
    return data ? std::string_view(data, static_cast<std::size_t>(sqlite3_value_bytes(row_[at]))) : std::string_view();
  }
  const auto column = statement_->getColumn(at);
  const auto* data = static_cast<const char*>(column.getBlob());
  return data ? std::string_view(data, static_cast<std::size_t>(column.getBytes())) : std::string_view();
}

std::optional<std::string> columns::maybe_text() {
  if (skip_null()) return std::nullopt;
  return text();
}

std::optional<std::int64_t> columns::maybe_integer() {
  if (skip_null()) return std::nullopt;
  return integer();
}

std::optional<wall_time> columns::maybe_time() {
  const auto value = maybe_integer();
  if (!value) return std::nullopt;
  return wall_time{milliseconds{*value}};
}

bool columns::skip_null() {
  const bool is_null = row_ ? sqlite3_value_type(row_[next_]) == SQLITE_NULL : statement_->getColumn(next_).isNull();
  if (is_null) ++next_;
  return is_null;
}

} // namespace quell::storage
