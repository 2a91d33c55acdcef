// Reads query parameters and reports every bad and every unknown one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/json/instant.hpp"
#include "gateway/problem.hpp"
#include "gateway/request.hpp"
#include "protocol/scope.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::controller::http {

class query_reader {
 public:
  explicit query_reader(const request& from) : parameters_(from.query) {}

  /// The value of a parameter that may be given once.
  std::optional<std::string> one(const char* name);
  std::vector<std::string> many(const char* name);
  std::optional<std::uint64_t> number(const char* name, std::uint64_t least, std::uint64_t most);
  std::optional<bool> flag(const char* name);
  std::optional<scope_path> scope(const char* name);
  std::vector<scope_path> scopes(const char* name);
  std::optional<wall_time> instant(const char* name);
  /// 1..1000, default 100.
  std::uint32_t limit();
  /// `order=asc|desc`: true for oldest first.
  bool ascending();
  /// `cursor` of a listing in this order: the seq after which to continue, 0 = from the start.
  std::uint64_t cursor(bool is_ascending);
  void complain(const char* name, std::string message, error_code code = error_code::invalid_field);
  /// Throws the problem if anything was wrong or unknown.
  void finish();

  template <class Id>
  std::optional<Id> id(const char* name) {
    const auto all = ids<Id>(name);
    if (all.size() > 1) complain(name, "may be given only once");
    return all.empty() ? std::nullopt : std::optional(all.front());
  }
  template <class Id>
  std::vector<Id> ids(const char* name) {
    std::vector<Id> all;
    for (const auto& text : many(name)) {
      if (const auto parsed = Id::parse(text))
        all.push_back(*parsed);
      else
        complain(name, "must be a UUIDv7: 36 characters, lower case", error_code::bad_id);
    }
    return all;
  }
  template <class Enum>
  std::vector<Enum> words(const char* name) {
    std::vector<Enum> all;
    for (const auto& text : many(name)) {
      if (const auto parsed = parse_name<Enum>(text))
        all.push_back(*parsed);
      else
        complain(name, "has no value '" + text.substr(0, 64) + "'");
    }
    return all;
  }

 private:
  const std::vector<name_value>& parameters_;
  std::vector<std::string_view> known_; ///< empty without parameters, which is usual
  std::vector<field_error> errors_;
};

/// An opaque cursor for "continue after `seq` in this order", and the reverse; nullopt for a cursor that quell did not
/// write.
struct seq_cursor {
  bool ascending = false;
  std::uint64_t seq = 0;
  friend bool operator==(const seq_cursor&, const seq_cursor&) = default;
};
std::string to_text(const seq_cursor& cursor);
std::optional<seq_cursor> parse_cursor(std::string_view text);

} // namespace quell::controller::http
