// Reads a JSON request body: parsed with limits, then field by field, noting *every* bad field. Includes json.hpp, so
// only the few files that read bodies include it.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "controller/records/records.hpp"
#include "gateway/problem.hpp"
#include "protocol/scope.hpp"

namespace quell::controller::http {

/// Nesting deeper than this is refused before it is parsed.
inline constexpr std::size_t max_json_depth = 32;
/// The most characters of a reason.
inline constexpr std::size_t max_reason = 500;
/// The limit of durations in requests, in milliseconds: 10 years.
inline constexpr std::uint64_t max_duration_ms = 3653ULL * 24 * 3600 * 1000;
/// The most errors reported for one body; a client learns of the others after fixing these.
inline constexpr std::size_t most_errors = 64;
inline constexpr std::uint64_t max_seq = (1ULL << 53) - 1;

/// The object in `text` without its null members ("null = as if absent"). An empty text is {}. Problems: `bad_json`
/// with the position, or with the pointer of a member that is given twice; `invalid_field` for JSON that is not an
/// object.
enum class null_members : std::uint8_t { dropped, kept };
tl::expected<nlohmann::json, problem> parse_body(std::string_view text, null_members nulls = null_members::dropped);
void drop_nulls(nlohmann::json& value);

/// SHA-256 of the canonical text of `body` without the named members.
std::string fingerprint_of(nlohmann::json body, std::initializer_list<const char*> without);

/// Reads the members of one object. Problems collect in `errors`; `finish` reports the members that were never
/// requested.
class body_reader {
 public:
  body_reader(const nlohmann::json& object, std::string pointer, std::vector<field_error>& errors)
      : object_(object), pointer_(std::move(pointer)), errors_(errors) {
    known_.reserve(usual_fields);
  }

  bool has(const char* name) const { return object_.contains(name); }
  std::string pointer(std::string_view name) const { return pointer_ + "/" + std::string(name); }
  void complain(std::string_view name, std::string message, error_code code = error_code::invalid_field);

  /// The member, marked as known; nullptr if absent.
  const nlohmann::json* take(const char* name);
  /// A string of at least `least` and at most `most` characters (code points), without NUL.
  std::optional<std::string> text(const char* name, std::size_t least, std::size_t most);
  std::optional<std::uint64_t> number(const char* name, std::uint64_t least, std::uint64_t most);
  std::optional<milliseconds> duration(const char* name, std::uint64_t most = max_duration_ms);
  std::optional<bool> flag(const char* name);
  std::optional<scope_path> scope(const char* name);
  std::optional<records::person> person(const char* name);
  /// Up to 64 labels, key and value 1 to 128.
  std::map<std::string, std::string> labels(const char* name);
  std::optional<wall_time> instant(const char* name);

  template <class Id>
  std::optional<Id> id(const char* name) {
    const auto given = text(name, 0, std::numeric_limits<std::size_t>::max());
    if (!given) return std::nullopt;
    auto parsed = Id::parse(*given);
    if (!parsed) complain(name, "must be a UUIDv7: 36 characters, lower case", error_code::bad_id);
    return parsed;
  }
  template <class Enum>
  std::optional<Enum> word(const char* name) {
    const auto given = text(name, 0, 64);
    if (!given) return std::nullopt;
    auto parsed = parse_name<Enum>(*given);
    if (!parsed) complain(name, "must be one of " + words<Enum>());
    return parsed;
  }
  /// A member that is an object.
  const nlohmann::json* object(const char* name);

  /// Reports every member that was never requested.
  void finish();

  template <class Enum>
  static std::string words() {
    std::string all;
    for (const auto name : names_of<Enum>::list) all += (all.empty() ? "" : ", ") + std::string(name);
    return all;
  }

 private:
  static constexpr std::size_t usual_fields = 24;
  const nlohmann::json& object_;
  std::string pointer_;
  std::vector<field_error>& errors_;
  std::vector<std::string_view> known_; ///< a handful, which is faster to look through than a tree
};

/// `text` as part of a JSON pointer (RFC 6901).
std::string pointer_part(std::string_view text);

} // namespace quell::controller::http
