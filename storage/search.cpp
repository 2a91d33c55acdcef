// A list query in parts: counting ways in, walking, testing.
#include "storage/search.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>

#include "storage/schema.hpp"

namespace quell::storage {
namespace {

std::vector<std::int64_t> keys_of(SQLite::Database& database, const fragment& f) {
  SQLite::Statement rows(database, f.sql);
  bind_all(rows, f.parameters);
  std::vector<std::int64_t> keys;
  while (rows.executeStep()) keys.push_back(rows.getColumn(0).getInt64());
  return keys;
}

/// The rows behind a way in, or one more than `most` of them.
std::vector<std::int64_t> behind(SQLite::Database& database, const condition& c, std::size_t most) {
  auto f = c.way_in;
  const auto limit = parameter::of(static_cast<std::uint64_t>(most + 1));
  if (c.limit_inside)
    f.parameters.back() = limit;
  else
    f.add(" LIMIT ?", limit);
  return keys_of(database, f);
}

void add_tests(fragment& to, const search& what) {
  for (const auto& c : what.conditions) {
    if (c.test.sql.empty()) continue;
    to.add(" AND (");
    to.add(c.test);
    to.add(")");
  }
}

std::string qualified(const search& what) { return what.table + "." + what.key; }

} // namespace

void fragment::add(const std::string& more, parameter value) {
  sql += more;
  parameters.push_back(std::move(value));
}

void fragment::add(const fragment& more) {
  sql += more.sql;
  parameters.insert(parameters.end(), more.parameters.begin(), more.parameters.end());
}

void bind_all(SQLite::Statement& statement, const std::vector<parameter>& parameters) {
  int next = 1;
  for (const auto& p : parameters) {
    switch (p.what) {
    case parameter::type::number:
      statement.bind(next, p.number);
      break;
    case parameter::type::text:
      statement.bindNoCopy(next, p.text);
      break;
    case parameter::type::bytes:
      statement.bindNoCopy(next, p.text.data(), static_cast<int>(p.text.size()));
      break;
    }
    ++next;
  }
}

fragment is_below_one_of(const std::string& column, const std::vector<scope_path>& scopes) {
  fragment f;
  for (const auto& scope : scopes) {
    const auto from = stored_scope(scope.text());
    f.add((f.sql.empty() ? "(" : " OR (") + column + " >= ?", parameter::of(from));
    f.add(" AND " + column + " < ?)", parameter::of(scope_range_end(from)));
  }
  return f;
}

search_plan plan(SQLite::Database& database, const search& what) {
  search_plan result;
  const condition* ordered = nullptr;
  std::size_t ways = 0;
  for (const auto& c : what.conditions) {
    if (!c.ordered_index.empty() && !ordered) ordered = &c;
    if (!c.way_in.sql.empty()) ++ways;
  }
  if (ordered) result.index = ordered->ordered_index;
  if (ways == 1 && ordered && !ordered->way_in.sql.empty()) return result; // nothing to choose from
  std::size_t most = what.most_candidates;
  for (const auto& c : what.conditions) {
    if (c.way_in.sql.empty()) continue;
    auto keys = behind(database, c, most);
    if (keys.size() > most) continue;
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    most = keys.size();
    result.what = search_plan::how::candidates;
    result.candidates = std::move(keys);
    if (most == 0) {
      result.what = search_plan::how::nothing;
      return result;
    }
  }
  if (!what.ascending) std::reverse(result.candidates.begin(), result.candidates.end());
  return result;
}

fragment walk_statement(const search& what, const std::string& index) {
  fragment f;
  f.add("SELECT " + qualified(what) + " FROM " + what.table +
        (index.empty() ? " NOT INDEXED" : " INDEXED BY " + index));
  // From the start upward is "above 0"; downward there is no such number, so the condition is left out.
  if (what.ascending || what.after == 0)
    f.add(" WHERE " + qualified(what) + " > ?", parameter::of(what.ascending ? what.after : 0));
  else
    f.add(" WHERE " + qualified(what) + " < ?", parameter::of(what.after));
  add_tests(f, what);
  f.add(" ORDER BY " + qualified(what) + (what.ascending ? " ASC" : " DESC"));
  f.add(" LIMIT ?", parameter::of(static_cast<std::uint64_t>(what.limit)));
  return f;
}

std::vector<std::int64_t> find(SQLite::Database& database, const search& what) {
  if (what.limit == 0) return {};
  const auto chosen = plan(database, what);
  if (chosen.what == search_plan::how::nothing) return {};
  if (chosen.what == search_plan::how::walk) return keys_of(database, walk_statement(what, chosen.index));
  fragment f;
  f.add("SELECT 1 FROM " + what.table + " NOT INDEXED WHERE " + qualified(what) + " = ?",
        parameter::of(std::int64_t{0}));
  add_tests(f, what);
  SQLite::Statement test(database, f.sql);
  bind_all(test, f.parameters);
  std::vector<std::int64_t> keys;
  for (const auto key : chosen.candidates) {
    if (keys.size() >= what.limit) break;
    const auto after = static_cast<std::int64_t>(what.after);
    if (what.after != 0 && (what.ascending ? key <= after : key >= after)) continue;
    test.bind(1, key);
    if (test.executeStep()) keys.push_back(key);
    test.reset();
  }
  return keys;
}

} // namespace quell::storage
