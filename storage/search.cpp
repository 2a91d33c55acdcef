// Runs a list query in parts: counts candidates, walks, tests.
#include "storage/search.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>

#include "storage/schema.hpp"

namespace quell::storage {
namespace {

std::vector<std::int64_t> keys_of(statement_cache& statements, const fragment& f) {
  const auto used = statements.take(f.sql);
  auto& rows = *used;
  bind_all(rows, f.parameters);
  std::vector<std::int64_t> keys;
  while (rows.executeStep()) keys.push_back(rows.getColumn(0).getInt64());
  return keys;
}

/// The rows that a way in selects, or `most` + 1 of them.
std::vector<std::int64_t> behind(statement_cache& statements, const condition& c, std::size_t most) {
  auto f = c.way_in;
  const auto limit = parameter::of(static_cast<std::uint64_t>(most + 1));
  if (c.limit_inside)
    f.parameters.back() = limit;
  else
    f.add(" LIMIT ?", limit);
  return keys_of(statements, f);
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

namespace {

/// Ways in are counted up to this many rows first, then up to this many times as far: the narrowest way in decides, so
/// nothing else is read to its end.
constexpr std::size_t first_count = 64, further_count = 8;

/// The narrowest way in with at most `most` rows, sorted; nullopt: there is none. Stops at one without rows.
std::optional<std::vector<std::int64_t>> narrowest(statement_cache& statements, const search& what, std::size_t most) {
  std::optional<std::vector<std::int64_t>> found;
  for (const auto& c : what.conditions) {
    if (c.way_in.sql.empty()) continue;
    auto keys = behind(statements, c, most);
    if (keys.size() > most) continue;
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    most = keys.size();
    found = std::move(keys);
    if (most == 0) break;
  }
  return found;
}

} // namespace

search_plan plan(statement_cache& statements, const search& what) {
  search_plan result;
  const condition* ordered = nullptr;
  std::size_t ways = 0;
  for (const auto& c : what.conditions) {
    if (!c.ordered_index.empty() && !ordered) ordered = &c;
    if (!c.way_in.sql.empty()) ++ways;
  }
  if (ordered) result.index = ordered->ordered_index;
  if (ways == 0 || (ways == 1 && ordered && !ordered->way_in.sql.empty())) return result; // no choice to make
  auto most = ways == 1 ? what.most_candidates : std::min(first_count, what.most_candidates);
  auto found = narrowest(statements, what, most);
  while (!found && most < what.most_candidates) {
    most = std::min(most * further_count, what.most_candidates);
    found = narrowest(statements, what, most);
  }
  if (!found) return result;
  result.what = found->empty() ? search_plan::how::nothing : search_plan::how::candidates;
  result.candidates = std::move(*found);
  if (!what.ascending) std::reverse(result.candidates.begin(), result.candidates.end());
  return result;
}

namespace {

fragment walk(const search& what, const std::string& index, const std::optional<std::int64_t>& last) {
  fragment f;
  f.add("SELECT " + qualified(what) + " FROM " + what.table +
        (index.empty() ? " NOT INDEXED" : " INDEXED BY " + index));
  const char* joint = " WHERE ";
  const auto bound = [&](const char* how, parameter at) {
    f.add(std::exchange(joint, " AND ") + qualified(what) + how, std::move(at));
  };
  // At most one bound on each side: SQLite walks to the first that it reads, and tests each row against another.
  if (what.ascending)
    bound(" > ?", parameter::of(what.after));
  else if (what.after > 0)
    bound(" < ?", parameter::of(what.after));
  else if (!last) // from the end to the beginning; the tests below need a condition before them
    bound(" > ?", parameter::of(std::uint64_t{0}));
  if (last)
    bound(what.ascending ? " <= ?" : " >= ?", parameter::of(*last)); // not behind `up_to`, which bounded the slice
  else if (what.up_to)
    bound(" <= ?", parameter::of(*what.up_to));
  add_tests(f, what);
  f.add(" ORDER BY " + qualified(what) + (what.ascending ? " ASC" : " DESC"));
  f.add(" LIMIT ?", parameter::of(static_cast<std::uint64_t>(what.limit)));
  return f;
}

/// Rows of a walk between two checks of the clock: few at first, because most pages fill up quickly.
constexpr std::uint64_t first_slice_rows = 256, most_slice_rows = 4096;

/// The last key of the next slice, counted over the rows to which `index` leads, whether they pass the other tests or
/// not. Nullopt if fewer rows are left.
std::optional<std::int64_t> end_of_slice(statement_cache& statements, const search& what, const std::string& index,
                                         std::uint64_t rows) {
  search bare = what;
  std::erase_if(bare.conditions, [&](const condition& c) { return index.empty() || c.ordered_index != index; });
  auto f = walk(bare, index, std::nullopt);
  f.parameters.back() = parameter::of(std::uint64_t{1});
  f.add(" OFFSET ?", parameter::of(rows - 1));
  const auto keys = keys_of(statements, f);
  if (keys.empty()) return std::nullopt;
  return keys.front();
}

/// True if the index alone answers every condition: then the walk meets only rows that pass.
bool meets_only_rows_that_pass(const search& what, const std::string& index) {
  return std::all_of(what.conditions.begin(), what.conditions.end(),
                     [&](const condition& c) { return !index.empty() && c.ordered_index == index; });
}

found_keys walk_in_slices(statement_cache& statements, search what, const std::string& index,
                          const std::function<bool()>& is_time_over) {
  found_keys found;
  const auto limit = what.limit;
  for (auto rows = first_slice_rows;; rows = std::min(2 * rows, most_slice_rows)) {
    const auto last = end_of_slice(statements, what, index, rows);
    what.limit = limit - static_cast<std::uint32_t>(found.keys.size());
    const auto keys = keys_of(statements, walk(what, index, last));
    found.keys.insert(found.keys.end(), keys.begin(), keys.end());
    if (!last || found.keys.size() >= limit) return found;
    if (is_time_over()) {
      found.cut_at = last;
      return found;
    }
    what.after = static_cast<std::uint64_t>(*last);
  }
}

found_keys test_candidates(statement_cache& statements, const search& what, const std::vector<std::int64_t>& candidates,
                           const std::function<bool()>& is_time_over) {
  fragment f;
  f.add("SELECT 1 FROM " + what.table + " NOT INDEXED WHERE " + qualified(what) + " = ?",
        parameter::of(std::int64_t{0}));
  add_tests(f, what);
  const auto used = statements.take(f.sql);
  auto& test = *used;
  bind_all(test, f.parameters);
  found_keys found;
  std::size_t tested = 0;
  for (const auto key : candidates) {
    if (found.keys.size() >= what.limit) break;
    const auto after = static_cast<std::int64_t>(what.after);
    if (what.after != 0 && (what.ascending ? key <= after : key >= after)) continue;
    if (what.up_to && key > static_cast<std::int64_t>(*what.up_to)) break;
    test.bind(1, key);
    if (test.executeStep()) found.keys.push_back(key);
    test.reset();
    if (++tested % 64 == 0 && found.keys.size() < what.limit && is_time_over()) {
      found.cut_at = key;
      break;
    }
  }
  return found;
}

} // namespace

fragment walk_statement(const search& what, const std::string& index) { return walk(what, index, std::nullopt); }

found_keys find(statement_cache& statements, const search& what, const std::function<bool()>& is_time_over) {
  if (what.limit == 0) return {};
  const auto chosen = plan(statements, what);
  if (chosen.what == search_plan::how::nothing) return {};
  if (chosen.what == search_plan::how::candidates)
    return test_candidates(statements, what, chosen.candidates, is_time_over);
  if (meets_only_rows_that_pass(what, chosen.index))
    return {keys_of(statements, walk_statement(what, chosen.index)), {}};
  return walk_in_slices(statements, what, chosen.index, is_time_over);
}

std::vector<std::int64_t> find(statement_cache& statements, const search& what) {
  return find(statements, what, [] { return false; }).keys;
}

} // namespace quell::storage
