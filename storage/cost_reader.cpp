// One statement for the rows of the page, one for the total.
#include "storage/cost_reader.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "controller/costs/days.hpp"
#include "storage/binding.hpp"
#include "storage/rows.hpp"
#include "storage/schema.hpp"

namespace quell::storage {

namespace {

using records::cost_group;

const char* column_of(cost_group by) {
  switch (by) {
  case cost_group::scope:
    return "scope";
  case cost_group::author:
    return "author";
  case cost_group::day:
    return "day";
  case cost_group::agent:
    return "agent";
  case cost_group::model:
    return "model";
  }
  return "day";
}

std::string sums_in_range() { return cost_sums() + " FROM cost INDEXED BY cost_key WHERE day >= ? AND day <= ?"; }

void read_sums(columns& from, records::cost_row& row) {
  row.calls = from.count();
  row.estimated = from.count();
  row.usage = usage_from(from);
  row.usage.estimated = row.estimated > 0;
}

} // namespace

records::cost_page read_costs(SQLite::Database& database, const records::cost_filter& f) {
  const auto range_begin = f.scope ? stored_scope(f.scope->text()) : std::string();
  const auto range_end = f.scope ? scope_range_end(range_begin) : std::string();
  std::string where = sums_in_range();
  if (f.scope) where += " AND scope >= ? AND scope < ?";
  const auto bind_where = [&](binder& to) {
    to.integer(f.from).integer(f.to);
    if (f.scope) to.text(range_begin).text(range_end);
  };
  const std::string column = column_of(f.by);
  std::optional<std::string> after = f.after;
  std::optional<records::utc_day> after_day;
  if (after && f.by == cost_group::day) after_day = controller::costs::parse_day(*after);
  if (after && f.by == cost_group::scope) after = stored_scope(*after);

  records::cost_page page;
  SQLite::Statement rows(database, "SELECT " + column + ", " + where + (after ? " AND " + column + " > ?" : "") +
                                       " GROUP BY " + column + " ORDER BY " + column + " LIMIT ?");
  binder to(rows);
  bind_where(to);
  if (after_day)
    to.integer(*after_day);
  else if (after)
    to.text(*after);
  to.count(f.limit);
  while (rows.executeStep()) {
    columns from(rows);
    records::cost_row row;
    if (f.by == cost_group::day)
      row.key = controller::costs::day_text(from.integer());
    else if (f.by == cost_group::scope)
      row.key = scope_of(from.view()).text();
    else
      row.key = from.text();
    read_sums(from, row);
    page.rows.push_back(std::move(row));
  }
  SQLite::Statement total(database, "SELECT " + where);
  binder total_to(total);
  bind_where(total_to);
  if (total.executeStep()) {
    columns from(total);
    read_sums(from, page.total);
  }
  return page;
}

} // namespace quell::storage
