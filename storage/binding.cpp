// Binds values to the parameters of a statement and reads values from the columns of a row.
#include "storage/binding.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

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

std::int64_t columns::integer() { return statement_.getColumn(next_++).getInt64(); }

std::string columns::text() { return std::string(view()); }

std::string_view columns::view() {
  const auto column = statement_.getColumn(next_++);
  const auto* data = static_cast<const char*>(column.getBlob());
  return data ? std::string_view(data, static_cast<std::size_t>(column.getBytes())) : std::string_view();
}

std::optional<std::string> columns::maybe_text() {
  const auto column = statement_.getColumn(next_++);
  if (column.isNull()) return std::nullopt;
  const auto* data = static_cast<const char*>(column.getBlob());
  return data ? std::string(data, static_cast<std::size_t>(column.getBytes())) : std::string();
}

std::optional<std::int64_t> columns::maybe_integer() {
  const auto column = statement_.getColumn(next_++);
  if (column.isNull()) return std::nullopt;
  return column.getInt64();
}

std::optional<wall_time> columns::maybe_time() {
  const auto value = maybe_integer();
  if (!value) return std::nullopt;
  return wall_time{milliseconds{*value}};
}

bool columns::skip_null() {
  if (!statement_.isColumnNull(next_)) return false;
  ++next_;
  return true;
}

} // namespace quell::storage
