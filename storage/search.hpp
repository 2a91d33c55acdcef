// A list query in parts: each filter is a test of a row and, if an index can lead to its rows, also a way in. A short
// count finds the way in with the fewest rows; if no index narrows a query down, its rows are walked in list order
// until the page is full.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "protocol/id.hpp"
#include "protocol/scope.hpp"
#include "storage/statement_cache.hpp"

namespace quell::storage {

/// A parameter of a query: a number, or text or bytes.
struct parameter {
  enum class type { number, text, bytes } what = type::number;
  std::int64_t number = 0;
  std::string text;

  static parameter of(std::uint64_t value) { return {type::number, static_cast<std::int64_t>(value), {}}; }
  static parameter of(std::int64_t value) { return {type::number, value, {}}; }
  static parameter of(std::string value) { return {type::text, 0, std::move(value)}; }
  template <class Tag>
  static parameter of(const basic_id<Tag>& id) {
    return {type::bytes, 0, std::string(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size())};
  }
};

/// SQL with `?` for each parameter, in order. Text from users is always a parameter.
struct fragment {
  std::string sql;
  std::vector<parameter> parameters;

  void add(const std::string& more) { sql += more; }
  void add(const std::string& more, parameter value);
  void add(const fragment& more);
};

/// One condition. `way_in` selects the keys of a superset of the rows that pass, through an index; "" = no index helps.
/// ` LIMIT ?` can be appended to it, except with `limit_inside`, when its last parameter is the limit. `ordered_index`:
/// the index by which a walk meets only rows that pass, in key order; "" = none.
struct condition {
  fragment test;
  fragment way_in;
  bool limit_inside = false;
  std::string ordered_index;
};

struct search {
  std::string table; ///< the table whose INTEGER PRIMARY KEY is `key`
  std::string key;
  std::vector<condition> conditions{};
  bool ascending = false;
  std::uint64_t after = 0;              ///< 0 = from the start
  std::optional<std::uint64_t> up_to{}; ///< no higher key; for ascending searches
  std::uint32_t limit = 100;
  /// A way in with more rows than this is not used.
  std::size_t most_candidates = 5'000;
};

/// How a search is carried out; exposed for the tests.
struct search_plan {
  enum class how { nothing, candidates, walk } what = how::walk;
  std::vector<std::int64_t> candidates; ///< keys, in list order
  std::string index;                    ///< index of the walk; "" = the table itself
};

/// Counts the rows of each way in. Throws SQLite::Exception.
search_plan plan(statement_cache& statements, const search& what);
/// The statement of a walk along `index` ("" = the table), without its parameters' values.
fragment walk_statement(const search& what, const std::string& index);

/// Keys in list order, and how far the search got.
struct found_keys {
  std::vector<std::int64_t> keys;
  std::optional<std::int64_t> cut_at; ///< time ran out behind this key; no row before it is missing
};
/// The keys that pass, in order, at most `limit`. Calls `is_time_over` between slices of a few thousand rows. Throws
/// SQLite::Exception.
found_keys find(statement_cache& statements, const search& what, const std::function<bool()>& is_time_over);
std::vector<std::int64_t> find(statement_cache& statements, const search& what);

void bind_all(SQLite::Statement& statement, const std::vector<parameter>& parameters);

/// `column IN (?, ?, …)`.
template <class Values>
fragment is_one_of(const std::string& column, const Values& values) {
  fragment f;
  f.add(column + " IN (");
  bool first = true;
  for (const auto& value : values) {
    f.add(first ? "?" : ",?", parameter::of(value));
    first = false;
  }
  f.add(")");
  return f;
}

/// True for texts in `column`, in `stored_scope` form, that lie at or below one of `scopes`.
fragment is_below_one_of(const std::string& column, const std::vector<scope_path>& scopes);

} // namespace quell::storage
