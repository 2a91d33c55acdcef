// Writes JSON text front to back. Invalid UTF-8 in strings (command lines of foreign processes) becomes replacement
// characters.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/json/instant.hpp"
#include "controller/records/records.hpp"
#include "protocol/id.hpp"
#include "protocol/scope.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::controller::http {

/// An enum with names (vocabulary.hpp).
template <class T>
concept named_enum = requires {
  names_of<T>::list;
};

/// The caller must keep the order (a key before each member's value); the writer adds the commas.
class json_writer {
 public:
  json_writer& open_object() { return separate('{'); }
  json_writer& close_object() { return add('}'); }
  json_writer& open_array() { return separate('['); }
  json_writer& close_array() { return add(']'); }
  json_writer& key(std::string_view name);

  void put(std::string_view text);
  void put(const char* text) { put(std::string_view(text)); }
  void put(const std::string& text) { put(std::string_view(text)); }
  void put(std::nullptr_t) { raw("null"); }
  void put(bool value) { raw(value ? "true" : "false"); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) void put(T value) { raw(std::to_string(value)); }
  /// At most 3 decimals, without trailing zeros.
  void put(double value);
  void put(wall_time at) { put(instant_text(at)); }
  void put(milliseconds length) { put(length.count()); }
  void put(const scope_path& scope) { put(scope.text()); }
  void put(const records::person& who);
  void put(const std::vector<std::string>& list);
  void put(const std::map<std::string, std::string>& map);
  template <class Tag>
  void put(const basic_id<Tag>& id) {
    put(id.text());
  }
  template <named_enum T>
  void put(T value) {
    put(name_of(value));
  }
  template <class T>
  void put(const std::optional<T>& value) {
    if (value)
      put(*value);
    else
      put(nullptr);
  }
  template <class T>
  json_writer& field(std::string_view name, const T& value) {
    key(name);
    put(value);
    return *this;
  }
  /// A member whose value is JSON text already; "" = null.
  json_writer& raw_field(std::string_view name, std::string_view json);
  void raw(std::string_view json);

  std::string take() { return std::move(out_); }
  const std::string& text() const { return out_; }

 private:
  json_writer& separate(char opener);
  json_writer& add(char c) {
    out_ += c;
    return *this;
  }
  void comma();
  std::string out_;
};

} // namespace quell::controller::http
