// Compact bytes for the parts of a row that no query uses: varints and length-prefixed strings, any bytes allowed.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/time.hpp"

namespace quell::storage {

/// Appends fields to a string. The order of the calls is the format; the first byte is its version.
class packer {
 public:
  void number(std::uint64_t value);
  void integer(std::int64_t value); ///< can be negative
  void real(double value);
  void text(std::string_view value);
  void texts(const std::vector<std::string>& values);
  void map(const std::map<std::string, std::string>& values);
  void flag(bool value) { number(value ? 1 : 0); }
  void time(wall_time value) { integer(value.time_since_epoch().count()); }

  /// A flag, and the value if there is one, written by `write`.
  template <class T, class Write>
  void maybe(const std::optional<T>& value, Write write) {
    flag(value.has_value());
    if (value) write(*value);
  }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads the fields that `packer` wrote. After any bad or missing byte `ok()` is false and every field reads as its
/// default.
class unpacker {
 public:
  explicit unpacker(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number();
  std::int64_t integer();
  double real();
  std::string text();
  std::string_view view(); ///< a text without a copy; valid as long as the bytes are
  std::vector<std::string> texts();
  std::map<std::string, std::string> map();
  bool flag() { return number() != 0; }
  wall_time time() { return wall_time{milliseconds{integer()}}; }

  template <class Read>
  auto maybe(Read read) -> std::optional<decltype(read())> {
    if (!flag()) return std::nullopt;
    return read();
  }

  bool ok() const { return ok_; }
  /// True if every byte has been read: fields that a later version appended are missing.
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

} // namespace quell::storage
