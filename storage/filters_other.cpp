// Turns the filters of cancels, events and messages into searches, and decides when a cancel covers an operation.
#include "storage/filters.hpp"
#include "storage/schema.hpp"

namespace quell::storage {
namespace {

constexpr std::size_t most_values = 500;

/// The scope to which a cancel belongs. A cancel that left a tombstone gets it from the tombstone.
const std::string cancel_place =
    "coalesce(cancel.place, (SELECT t.within FROM tombstone t WHERE t.id = cancel.operation))";

condition cancels_in(const std::vector<scope_path>& scopes) {
  return {is_below_one_of(cancel_place, scopes), {}, false, {}};
}

/// The index by scope misses the cancels of tombstones, so these are added.
void add_way_in(condition& c, const std::vector<scope_path>& scopes) {
  for (const auto& scope : scopes) {
    c.way_in.add("SELECT seq FROM cancel INDEXED BY cancel_place WHERE ");
    c.way_in.add(is_below_one_of("place", {scope}));
    c.way_in.add(" UNION ALL ");
  }
  c.way_in.add("SELECT seq FROM cancel WHERE id IN (SELECT cancel FROM tombstone)");
}

} // namespace

std::string covers(const std::string& operation_id_sql) {
  const std::string lived = "(x.ended_seq = 0 OR x.ended_seq > cancel.seq) AND x.seq < cancel.seq";
  const std::string in_scope = "substr(up.scope, 1, length(cancel.scope)) = cancel.scope";
  return "EXISTS (WITH RECURSIVE up(id, parent, seq, detached, scope, owner, as_of) AS ("
         "SELECT x.id, x.parent, x.seq, x.detached, x.scope, x.owner, x.as_of FROM operation x WHERE x.id = " +
         operation_id_sql + " AND " + lived +
         " UNION ALL SELECT x.id, x.parent, x.seq, x.detached, x.scope, x.owner, x.as_of FROM up CROSS JOIN operation x"
         " ON x.id = up.parent WHERE NOT up.detached AND x.seq < up.seq AND " +
         lived +
         ") SELECT 1 FROM up WHERE up.as_of <= cancel.cutoff AND CASE cancel.target"
         " WHEN 0 THEN up.id = cancel.operation"
         " WHEN 1 THEN " +
         in_scope + " WHEN 2 THEN up.owner = cancel.owner AND (cancel.scope IS NULL OR " + in_scope +
         ")"
         " ELSE cancel.scope IS NULL OR " +
         in_scope + " END)";
}

result<search> search_for(const cancel_filter& f) {
  if (f.scopes.size() > most_values)
    return failure(error_code::bad_request, "a list takes at most 500 scopes; ask for fewer at a time");
  search s{.table = "cancel", .key = "seq", .ascending = f.ascending, .after = f.after_seq, .limit = f.limit};
  for (const auto& scopes : {f.scopes, f.within ? std::vector{*f.within} : std::vector<scope_path>{}}) {
    if (scopes.empty()) continue;
    s.conditions.push_back(cancels_in(scopes));
    add_way_in(s.conditions.back(), scopes);
  }
  const auto add = [&](fragment test) { s.conditions.push_back({std::move(test), {}, false, {}}); };
  fragment test;
  if (f.only_open) {
    condition open;
    open.test.add("cancel.status <> 2");
    open.way_in.add("SELECT seq FROM cancel INDEXED BY cancel_open WHERE status <> 2");
    open.ordered_index = "cancel_open";
    s.conditions.push_back(std::move(open));
  }
  if (f.status) {
    condition at{is_one_of("cancel.status", std::vector{static_cast<std::int64_t>(*f.status)}), {}, false, {}};
    if (*f.status != cancel_status::settled) // nearly all are settled: a walk meets those at once
      at.way_in.add("SELECT seq FROM cancel INDEXED BY cancel_open WHERE status <> 2");
    s.conditions.push_back(std::move(at));
  }
  if (f.owner) add(is_one_of("cancel.by_id", std::vector{*f.owner}));
  if (f.operation) {
    // Only cancels that came during the operation's life can have covered it.
    test.add("cancel.seq > (SELECT o.seq FROM operation o WHERE o.id = ?)", parameter::of(*f.operation));
    test.add(" AND " + covers("?"), parameter::of(*f.operation));
    condition covering{std::move(test), {}, false, {}};
    covering.way_in.add("SELECT cancel.seq FROM operation o CROSS JOIN cancel ON cancel.seq > o.seq AND cancel.seq < "
                        "CASE o.ended_seq WHEN 0 THEN 9223372036854775807 ELSE o.ended_seq END WHERE o.id = ?",
                        parameter::of(*f.operation));
    s.conditions.push_back(std::move(covering));
  }
  return s;
}

search search_for(const message_filter& f) {
  search s{.table = "message", .key = "seq", .ascending = f.ascending, .after = f.after_seq, .limit = f.limit};
  condition conversation;
  conversation.test.add("message.scope = ?", parameter::of(stored_scope(f.scope.text())));
  if (f.aside_of)
    conversation.test.add(" AND message.aside = 1 AND message.turn = ?", parameter::of(*f.aside_of));
  else
    conversation.test.add(" AND message.aside = 0");
  conversation.ordered_index = f.aside_of ? "message_aside" : "message_scope";
  s.conditions.push_back(std::move(conversation));
  if (f.above_seq) {
    fragment newer;
    newer.add("message.seq > ?", parameter::of(*f.above_seq));
    s.conditions.push_back({std::move(newer), {}, false, {}});
  }
  return s;
}

result<search> search_for(const event_filter& f) {
  if (f.scopes.size() + f.types.size() + f.unlisted_types.size() > most_values)
    return failure(error_code::bad_request,
                   "a list of events takes at most 500 filter values; ask for fewer at a time");
  search s{.table = "event", .key = "id", .ascending = true, .after = f.after, .up_to = f.up_to, .limit = f.limit};
  const auto add = [&](fragment test) { s.conditions.push_back({std::move(test), {}, false, {}}); };
  if (!f.scopes.empty()) add(is_below_one_of("event.scope", f.scopes));
  if (f.within) add(is_below_one_of("event.scope", {*f.within}));
  if (f.has_types()) {
    auto texts = f.unlisted_types;
    for (const auto type : f.types) texts.emplace_back(text_of(type));
    add(is_one_of("event.type", texts));
  }
  if (f.below) add(is_under("event.operation", *f.below));
  return s;
}

} // namespace quell::storage
