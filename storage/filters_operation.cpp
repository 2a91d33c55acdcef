// Turns the operations' filter into a search.
#include <algorithm>

#include "storage/codes.hpp"
#include "storage/filters.hpp"
#include "storage/schema.hpp"

namespace quell::storage {
namespace {

/// True if the operation was live when the cancel with this seq came. Takes three parameters, all with the same number.
fragment lived_at(const std::string& table, std::uint64_t seq) {
  fragment f;
  f.add(table + ".seq < ?", parameter::of(seq));
  f.add(" AND (" + table + ".ended_seq = 0 OR " + table + ".ended_seq > ?)", parameter::of(seq));
  return f;
}

/// The operation and everything under it, by the parent index. `seq` must increase from parent to child, so damaged
/// rows cannot make the search endless.
fragment everything_under(const operation_id& top) {
  fragment f;
  f.add("WITH RECURSIVE under(seq, id) AS (SELECT seq, id FROM operation WHERE id = ?", parameter::of(top));
  f.add(" UNION ALL SELECT c.seq, c.id FROM under CROSS JOIN operation c INDEXED BY operation_parent"
        " ON c.parent = under.id WHERE c.seq > under.seq LIMIT ?) SELECT seq FROM under",
        parameter::of(std::uint64_t{0}));
  return f;
}

condition below(const operation_id& top) {
  condition c;
  c.test = is_under("operation.id", top);
  c.way_in = everything_under(top);
  c.limit_inside = true;
  return c;
}

condition in_scopes(const std::vector<scope_path>& scopes) {
  condition c;
  c.test = is_below_one_of("operation.scope", scopes);
  // A separate condition for each range: SQLite would not use the index for them together.
  for (const auto& scope : scopes) {
    c.way_in.add(c.way_in.sql.empty() ? "" : " UNION ALL ");
    c.way_in.add("SELECT seq FROM operation INDEXED BY operation_scope WHERE ");
    c.way_in.add(is_below_one_of("scope", {scope}));
  }
  return c;
}

/// An equality condition that has its own index.
template <class Values>
condition indexed(const std::string& column, const std::string& index, const Values& values) {
  condition c;
  c.test = is_one_of("operation." + column, values);
  c.way_in.add("SELECT seq FROM operation INDEXED BY " + index + " WHERE ");
  c.way_in.add(is_one_of(column, values));
  if (values.size() == 1) c.ordered_index = index;
  return c;
}

condition in_roots(const std::vector<operation_id>& roots) {
  condition c;
  c.test = is_one_of("coalesce(operation.root, operation.id)", roots);
  c.way_in.add("SELECT seq FROM operation INDEXED BY operation_root WHERE ");
  c.way_in.add(is_one_of("root", roots));
  c.way_in.add(" UNION ALL SELECT seq FROM operation WHERE ");
  c.way_in.add(is_one_of("id", roots));
  return c;
}

/// Different keys: AND; values of the same key: OR.
std::vector<condition> with_labels(const std::vector<std::pair<std::string, std::string>>& labels) {
  std::map<std::string, fragment> by_key;
  for (const auto& [key, value] : labels) {
    auto& f = by_key[key];
    f.add(f.sql.empty() ? "has_label(operation.labels, ?," : " OR has_label(operation.labels, ?,", parameter::of(key));
    f.add(" ?)", parameter::of(value));
  }
  std::vector<condition> all;
  for (auto& [key, f] : by_key) all.push_back({std::move(f), {}, false, {}});
  return all;
}

/// The operations that the cancel names directly, by an index; "" if it names everything.
fragment named_by(const cancel_record& cancel) {
  fragment f;
  if (const auto* target = std::get_if<target_operation>(&cancel.target)) {
    f.add("SELECT seq, id FROM operation WHERE id = ?", parameter::of(target->id));
  } else if (const auto* target = std::get_if<target_scope>(&cancel.target)) {
    f.add("SELECT seq, id FROM operation INDEXED BY operation_scope WHERE ");
    f.add(is_below_one_of("scope", {target->scope}));
  } else if (const auto* target = std::get_if<target_owner>(&cancel.target)) {
    f.add("SELECT seq, id FROM operation INDEXED BY operation_owner WHERE owner = ?", parameter::of(target->owner));
    if (target->below) {
      f.add(" AND ");
      f.add(is_below_one_of("scope", {*target->below}));
    }
  } else {
    const auto& below = std::get<target_everything>(cancel.target).below;
    f.add("SELECT seq, id FROM operation INDEXED BY operation_scope WHERE ");
    if (below)
      f.add(is_below_one_of("scope", {*below}));
    else
      f.add("scope >= ''");
  }
  return f;
}

condition covered_by(const cancel_record& cancel) {
  condition c;
  const bool by_place =
      std::holds_alternative<target_scope>(cancel.target) || std::holds_alternative<target_everything>(cancel.target);
  if (by_place && !cancel.up_to_seq && cancel.cutoff >= cancel.seq) {
    // A child's scope is its parent's scope or below it, so going up would find nothing more. The index alone answers
    // this.
    std::optional<scope_path> place;
    if (const auto* target = std::get_if<target_scope>(&cancel.target))
      place = target->scope;
    else
      place = std::get<target_everything>(cancel.target).below;
    c.test = lived_at("operation", cancel.seq);
    if (place) {
      c.test.add(" AND ");
      c.test.add(is_below_one_of("operation.scope", {*place}));
    }
    c.way_in.add("SELECT seq FROM (");
    c.way_in.add(named_by(cancel));
    c.way_in.add(" AND ");
    c.way_in.add(lived_at("operation", cancel.seq));
    c.way_in.add(")");
    return c;
  }
  c.test.add("EXISTS (SELECT 1 FROM cancel WHERE cancel.seq = ? AND " + covers("operation.id") + ")",
             parameter::of(cancel.seq));
  c.way_in.add("WITH RECURSIVE hit(seq, id) AS (");
  c.way_in.add(named_by(cancel));
  c.way_in.add(" AND as_of <= ? AND ", parameter::of(cancel.cutoff));
  c.way_in.add(lived_at("operation", cancel.seq));
  c.way_in.add(
      " UNION SELECT k.seq, k.id FROM hit CROSS JOIN operation k INDEXED BY operation_parent ON k.parent = hit.id"
      " WHERE NOT k.detached AND k.seq > hit.seq AND ");
  c.way_in.add(lived_at("k", cancel.seq));
  c.way_in.add(" LIMIT ?) SELECT seq FROM hit", parameter::of(std::uint64_t{0}));
  c.limit_inside = true;
  return c;
}

/// The condition of the index `operation_unsuccessful`, in its words: SQLite compares them.
std::string unsuccessful_end(const std::string& prefix) {
  return prefix + "ended_seq <> 0 AND " + prefix + "status <> 4";
}
static_assert(code_of(status::completed) == 4);

/// The rows with one of these ends, by the index; nullopt: it does not hold all of them.
std::optional<fragment> by_end(const std::vector<std::int64_t>& ended) {
  if (ended.empty() || std::count(ended.begin(), ended.end(), code_of(status::completed)) > 0) return std::nullopt;
  fragment f;
  f.add("SELECT seq FROM operation INDEXED BY operation_unsuccessful WHERE " + unsuccessful_end("") + " AND ");
  f.add(is_one_of("status", ended));
  return f;
}

std::optional<condition> in_status(const operation_filter& f) {
  condition c;
  std::vector<std::int64_t> ended;
  for (const auto s : f.ended_statuses) ended.push_back(static_cast<std::int64_t>(s));
  if (f.want_live && !f.want_ended) {
    c.test.add("operation.ended_seq = 0");
    c.way_in.add("SELECT seq FROM operation INDEXED BY operation_live WHERE ended_seq = 0");
    c.ordered_index = "operation_live";
  } else if (f.want_live && !ended.empty()) {
    c.test.add("operation.ended_seq = 0 OR ");
    c.test.add(is_one_of("operation.status", ended));
    if (const auto way = by_end(ended)) {
      c.way_in.add("SELECT seq FROM operation INDEXED BY operation_live WHERE ended_seq = 0 UNION ALL ");
      c.way_in.add(*way);
    }
  } else if (!f.want_live && f.want_ended) {
    const auto way = by_end(ended);
    c.test.add(way ? unsuccessful_end("operation.") : "operation.ended_seq <> 0");
    if (!ended.empty()) {
      c.test.add(" AND ");
      c.test.add(is_one_of("operation.status", ended));
    }
    if (way) c.way_in = *way;
    if (way && ended.size() == 1) c.ordered_index = "operation_unsuccessful";
  } else if (!f.want_live) {
    c.test.add("0");
    c.way_in.add("SELECT seq FROM operation WHERE 0");
  } else {
    return std::nullopt;
  }
  return c;
}

} // namespace

fragment is_under(const std::string& id_column, const operation_id& ancestor) {
  fragment f;
  f.add("EXISTS (WITH RECURSIVE up(id, parent, seq) AS (SELECT x.id, x.parent, x.seq FROM operation x WHERE x.id = " +
            id_column +
            " UNION ALL SELECT p.id, p.parent, p.seq FROM up CROSS JOIN operation p ON p.id = up.parent WHERE p.seq < "
            "up.seq)"
            " SELECT 1 FROM up WHERE up.id = ?)",
        parameter::of(ancestor));
  return f;
}

result<search> search_for(const operation_filter& f, const std::optional<cancel_record>& covering) {
  constexpr std::size_t most_values = 500;
  if (f.scopes.size() + f.ended_statuses.size() + f.kinds.size() + f.names.size() + f.owners.size() + f.workers.size() +
          f.errors.size() + f.labels.size() + f.parents.size() + f.roots.size() >
      most_values)
    return failure(error_code::bad_request, "a list takes at most 500 filter values in all; ask for fewer at a time");
  search s{.table = "operation", .key = "seq", .ascending = f.ascending, .after = f.after_seq, .limit = f.limit};
  auto& all = s.conditions;
  const auto plain = [&](fragment test) { all.push_back({std::move(test), {}, false, {}}); };
  // Before the status: of what failed, few rows have one certain code.
  if (!f.errors.empty()) all.push_back(indexed("error_code", "operation_error", f.errors));
  if (auto c = in_status(f)) all.push_back(std::move(*c));
  if (!f.scopes.empty()) all.push_back(in_scopes(f.scopes));
  if (f.within) all.push_back(in_scopes({*f.within}));
  if (f.within_operation) all.push_back(below(*f.within_operation));
  if (f.below) all.push_back(below(*f.below));
  if (covering) all.push_back(covered_by(*covering));
  if (!f.owners.empty()) all.push_back(indexed("owner", "operation_owner", f.owners));
  if (!f.parents.empty()) all.push_back(indexed("parent", "operation_parent", f.parents));
  if (!f.roots.empty()) all.push_back(in_roots(f.roots));
  std::vector<std::int64_t> kinds;
  for (const auto k : f.kinds) kinds.push_back(static_cast<std::int64_t>(k));
  if (!kinds.empty()) plain(is_one_of("operation.kind", kinds));
  if (!f.names.empty()) plain(is_one_of("operation.name", f.names));
  if (!f.workers.empty()) plain(is_one_of("operation.worker", f.workers));
  for (auto& c : with_labels(f.labels)) all.push_back(std::move(c));
  const auto bound = [&](const char* sql, wall_time at) {
    fragment test;
    test.add(sql, parameter::of(static_cast<std::int64_t>(at.time_since_epoch().count())));
    plain(std::move(test));
  };
  if (f.since) bound("operation.created_at >= ?", *f.since);
  if (f.until) bound("operation.created_at < ?", *f.until);
  if (f.ended_since) bound("operation.ended_seq <> 0 AND operation.ended_at >= ?", *f.ended_since);
  if (f.ended_until) bound("operation.ended_seq <> 0 AND operation.ended_at < ?", *f.ended_until);
  return s;
}

} // namespace quell::storage
