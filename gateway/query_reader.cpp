// Query parameters and cursors.
#include "gateway/query_reader.hpp"

#include <algorithm>
#include <charconv>

#include "protocol/base64.hpp"
#include "protocol/encoding.hpp"

namespace quell::controller::http {

namespace {

/// Each value of a filter is compared with each row.
constexpr std::size_t most_of_one_name = 64;

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

} // namespace

std::optional<std::string> query_reader::one(const char* name) {
  auto all = many(name);
  if (all.empty()) return std::nullopt;
  if (all.size() > 1) complain(name, "may be given only once");
  return std::move(all.front());
}

std::vector<std::string> query_reader::many(const char* name) {
  if (parameters_.empty()) return {};
  known_.emplace_back(name);
  std::vector<std::string> all;
  for (const auto& [key, value] : parameters_)
    if (key == name) all.push_back(value);
  if (all.size() <= most_of_one_name) return all;
  complain(name, "may be given at most " + std::to_string(most_of_one_name) + " times");
  all.resize(most_of_one_name);
  return all;
}

std::optional<std::uint64_t> query_reader::number(const char* name, std::uint64_t least, std::uint64_t most) {
  const auto text = one(name);
  if (!text) return std::nullopt;
  const auto value = whole_number(*text);
  if (value && *value >= least && *value <= most) return value;
  complain(name, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return std::nullopt;
}

std::optional<bool> query_reader::flag(const char* name) {
  const auto text = one(name);
  if (!text) return std::nullopt;
  if (*text == "true" || *text == "1" || text->empty()) return true;
  if (*text == "false" || *text == "0") return false;
  complain(name, "must be true or false");
  return std::nullopt;
}

std::vector<scope_path> query_reader::scopes(const char* name) {
  std::vector<scope_path> all;
  for (const auto& text : many(name)) {
    auto parsed = scope_path::parse(text);
    if (parsed)
      all.push_back(std::move(*parsed));
    else
      complain(name, parsed.error().detail, error_code::bad_scope);
  }
  return all;
}

std::optional<scope_path> query_reader::scope(const char* name) {
  const auto all = scopes(name);
  if (all.size() > 1) complain(name, "may be given only once");
  return all.empty() ? std::nullopt : std::optional(all.front());
}

std::optional<wall_time> query_reader::instant(const char* name) {
  const auto text = one(name);
  if (!text) return std::nullopt;
  const auto parsed = parse_instant(*text);
  if (!parsed) complain(name, "must be an instant such as 2026-11-20T09:51:07.123Z");
  return parsed;
}

std::uint32_t query_reader::limit() { return static_cast<std::uint32_t>(number("limit", 1, 1000).value_or(100)); }

bool query_reader::ascending() {
  const auto order = one("order");
  if (order && *order != "asc" && *order != "desc") complain("order", "must be asc or desc");
  return order == "asc";
}

std::uint64_t query_reader::cursor(bool is_ascending) {
  const auto text = one("cursor");
  if (!text) return 0;
  const auto parsed = parse_cursor(*text);
  if (parsed && parsed->ascending == is_ascending) return parsed->seq;
  complain("cursor", "is not a cursor of this listing; use next_cursor of an answer with the same parameters");
  return 0;
}

void query_reader::complain(const char* name, std::string message, error_code code) {
  errors_.push_back({code, "?" + std::string(name), std::move(message)});
}

void query_reader::finish() {
  for (const auto& [key, value] : parameters_) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    known_.emplace_back(key);
    complain(key.substr(0, 64).c_str(), "is not a parameter of this request", error_code::unknown_field);
  }
  if (!errors_.empty()) throw from_errors(std::move(errors_));
}

std::string to_text(const seq_cursor& cursor) {
  return base64url((cursor.ascending ? "a" : "d") + std::to_string(cursor.seq));
}

std::optional<seq_cursor> parse_cursor(std::string_view text) {
  const auto plain = from_base64url(text);
  if (!plain || plain->size() < 2 || (plain->front() != 'a' && plain->front() != 'd')) return std::nullopt;
  const auto seq = whole_number(std::string_view(*plain).substr(1));
  if (!seq) return std::nullopt;
  return seq_cursor{plain->front() == 'a', *seq};
}

} // namespace quell::controller::http
