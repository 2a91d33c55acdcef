// Binds values to the parameters of a statement and reads values from the columns of a row, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/id.hpp"
#include "protocol/time.hpp"
#include "storage/codes.hpp"
#include "storage/faults.hpp"

namespace SQLite {
class Statement;
}
struct sqlite3_value;

namespace quell::storage {

/// Binds parameters 1, 2, 3 … of a reset statement. Texts and bytes are not copied: they must live until the statement
/// has run.
class binder {
 public:
  explicit binder(SQLite::Statement& statement) : statement_(statement) {}

  binder& integer(std::int64_t value);
  binder& count(std::uint64_t value) { return integer(static_cast<std::int64_t>(value)); }
  binder& text(const std::string& value);
  binder& bytes(const void* data, std::size_t size);
  binder& nothing();

  binder& time(wall_time value) { return integer(value.time_since_epoch().count()); }
  binder& time(const std::optional<wall_time>& value) { return value ? time(*value) : nothing(); }
  binder& text(const std::optional<std::string>& value) { return value ? text(*value) : nothing(); }
  /// "" becomes NULL.
  binder& text_or_nothing(const std::string& value) { return value.empty() ? nothing() : text(value); }
  /// 0 becomes NULL.
  binder& count_or_nothing(std::uint64_t value) { return value == 0 ? nothing() : count(value); }

  template <class Tag>
  binder& id(const basic_id<Tag>& value) {
    return bytes(value.bytes.data(), value.bytes.size());
  }
  template <class Tag>
  binder& id(const std::optional<basic_id<Tag>>& value) {
    return value ? id(*value) : nothing();
  }
  template <class Enum>
  binder& code(Enum value) {
    return integer(code_of(value));
  }
  template <class Enum>
  binder& code(const std::optional<Enum>& value) {
    return value ? code(*value) : nothing();
  }

 private:
  SQLite::Statement& statement_;
  int next_ = 1;
};

/// Reads columns 0, 1, 2 … of the current row. Throws `corrupt_row` for a value that this store cannot have written.
class columns {
 public:
  explicit columns(SQLite::Statement& statement) : statement_(&statement) {}
  /// Of a row that a function of SQL received; valid during its call.
  explicit columns(sqlite3_value** row) : row_(row) {}

  std::int64_t integer();
  std::uint64_t count() { return static_cast<std::uint64_t>(integer()); }
  std::string text(); ///< "" for NULL
  std::optional<std::string> maybe_text();
  std::string_view view(); ///< bytes, valid until the next step; "" for NULL
  std::optional<std::int64_t> maybe_integer();
  wall_time time() { return wall_time{milliseconds{integer()}}; }
  std::optional<wall_time> maybe_time();
  bool skip_null(); ///< true, and skips the column, if it is NULL

  template <class Id>
  Id id() {
    auto found = maybe_id<Id>();
    if (!found) throw corrupt_row("an id is missing");
    return *found;
  }
  template <class Id>
  std::optional<Id> maybe_id() {
    const auto raw = view();
    if (raw.empty()) return std::nullopt;
    Id id;
    if (raw.size() != id.bytes.size()) throw corrupt_row("an id has the wrong size");
    std::memcpy(id.bytes.data(), raw.data(), raw.size());
    return id;
  }
  template <class Enum>
  std::optional<Enum> maybe_code() {
    const auto raw = maybe_integer();
    if (!raw) return std::nullopt;
    const auto value = from_code<Enum>(*raw);
    if (!value) throw corrupt_row("a code is out of range");
    return value;
  }
  template <class Enum>
  Enum code() {
    const auto value = maybe_code<Enum>();
    if (!value) throw corrupt_row("a code is missing");
    return *value;
  }

 private:
  SQLite::Statement* statement_ = nullptr; ///< or
  sqlite3_value** row_ = nullptr;
  int next_ = 0;
};

} // namespace quell::storage
