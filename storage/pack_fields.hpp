// Packs a struct by its `inspect`, so that a field appended to it later is stored, too, and reads as its default from
// older rows.
#pragma once

#include <type_traits>

#include "storage/codes.hpp"
#include "storage/faults.hpp"
#include "storage/pack.hpp"

namespace quell::storage {

/// `inspect(field_packer{to}, value)` writes the number of fields, then each field.
struct field_packer {
  packer& to;

  template <class... Fields>
  bool operator()(Fields&... fields) {
    to.number(sizeof...(fields));
    (put(fields), ...);
    return true;
  }

 private:
  void put(const std::string& v) { to.text(v); }
  void put(bool value) { to.flag(value); }
  void put(std::uint32_t v) { to.number(v); }
  void put(std::uint64_t v) { to.number(v); }
  void put(milliseconds v) { to.integer(v.count()); }
  void put(const std::vector<std::string>& v) { to.texts(v); }
  void put(const std::map<std::string, std::string>& v) { to.map(v); }
  template <class T>
  void put(const std::optional<T>& v) {
    to.maybe(v, [this](const T& inner) { put(inner); });
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void put(Enum v) { to.number(static_cast<std::uint64_t>(v)); }
};

/// The reverse; throws `corrupt_row` for bytes that `field_packer` cannot have written.
struct field_unpacker {
  unpacker& from;

  template <class... Fields>
  bool operator()(Fields&... fields) {
    auto left = from.number();
    if (left > sizeof...(fields)) throw corrupt_row("a packed part has fields of a newer version");
    ((left > 0 ? (--left, take(fields)) : void()), ...);
    return true;
  }

 private:
  void take(std::string& v) { v = from.text(); }
  void take(bool& value) { value = from.flag(); }
  void take(std::uint64_t& v) { v = from.number(); }
  void take(std::uint32_t& v) { v = static_cast<std::uint32_t>(from.number()); }
  void take(milliseconds& v) { v = milliseconds{from.integer()}; }
  void take(std::vector<std::string>& v) { v = from.texts(); }
  void take(std::map<std::string, std::string>& v) { v = from.map(); }
  template <class T>
  void take(std::optional<T>& v) {
    if (from.flag()) take(v.emplace());
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void take(Enum& v) {
    const auto value = from_code<Enum>(static_cast<std::int64_t>(from.number()));
    if (!value) throw corrupt_row("a packed part has a code out of range");
    v = *value;
  }
};

} // namespace quell::storage
