// GET /v1/cost: what model calls have used, by scope, author, day, agent or model.
#include "controller/costs/days.hpp"
#include "controller/costs/limits.hpp"
#include "controller/json/json_writer.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"
#include "protocol/clock_now.hpp"

namespace quell::controller::http {

namespace {

using records::cost_group;
using records::utc_day;

constexpr utc_day days_by_default = 30;
constexpr std::size_t longest_key = 1024;
constexpr auto group_names = std::to_array<std::string_view>({"scope", "author", "day", "agent", "model"});

cost_group group_of(query_reader& query) {
  const auto by = query.one("by").value_or("day");
  for (std::size_t i = 0; i < group_names.size(); ++i)
    if (by == group_names[i]) return static_cast<cost_group>(i);
  query.complain("by", "must be scope, author, day, agent or model");
  return cost_group::day;
}

utc_day day_at(query_reader& query, const char* name, utc_day otherwise) {
  const auto text = query.one(name);
  if (!text) return otherwise;
  const auto day = costs::parse_day(*text);
  if (!day) query.complain(name, "must be a day of UTC such as 2026-11-23");
  return day.value_or(otherwise);
}

void write_sums(json_writer& to, const records::cost_row& row) {
  to.field("model_calls", row.calls).field("estimated_calls", row.estimated);
  to.field("input_tokens", row.usage.input_tokens).field("output_tokens", row.usage.output_tokens);
  to.field("cached_input_tokens", row.usage.cached_input_tokens);
  to.field("cache_written_tokens", row.usage.cache_written_tokens);
  to.key("cost").raw(costs::amount_text(row.usage.cost_nanos));
  to.close_object();
}

} // namespace

awaitable<response> get_cost(exchange& x) {
  need(x, right::read);
  if (x.who.task)
    throw problem{.code = error_code::forbidden,
                  .detail = "a task's token sees its own operation and what lies below it; no costs of a scope"};
  query_reader query(x.req);
  const utc_day today = costs::day_of(clock_now().wall);
  records::cost_filter filter;
  filter.by = group_of(query);
  filter.scope = query.scope("scope");
  filter.to = day_at(query, "to", today);
  filter.from = day_at(query, "from", filter.to - days_by_default + 1);
  filter.after = query.one("cursor");
  filter.limit = query.limit();
  const bool is_bad_cursor = filter.after && (filter.after->size() > longest_key ||
                                              (filter.by == cost_group::day && !costs::parse_day(*filter.after)) ||
                                              (filter.by == cost_group::scope && !scope_path::parse(*filter.after)));
  if (is_bad_cursor) query.complain("cursor", "is not one of this list: take next_cursor of the page before");
  if (filter.from > filter.to) query.complain("from", "is later than `to`");
  query.finish();
  if (filter.scope) need_scope(x, *filter.scope);
  if (!filter.scope) filter.scope = x.who.prefix;
  std::function<result<std::vector<records::cost_page>>(store_reader&)> job =
      [filter](store_reader& store) -> result<std::vector<records::cost_page>> {
    auto page = store.costs(filter);
    if (!page) return tl::unexpected(page.error());
    return std::vector<records::cost_page>{std::move(*page)};
  };
  const auto part = co_await x.list<records::cost_page>(std::move(job));
  const auto page = part.rows.empty() ? records::cost_page{} : part.rows.front();
  const auto name = group_names.at(static_cast<std::size_t>(filter.by));
  json_writer to;
  to.open_object().field("by", name);
  to.field("scope", filter.scope);
  to.field("from", costs::day_text(filter.from)).field("to", costs::day_text(filter.to));
  to.field("today", costs::day_text(today));
  to.key("cost").open_array();
  for (const auto& row : page.rows) {
    to.open_object().field(name, row.key);
    write_sums(to, row);
  }
  to.close_array();
  to.key("total").open_object();
  write_sums(to, page.total);
  const bool has_more = !page.rows.empty() && page.rows.size() >= filter.limit;
  to.field("next_cursor", has_more ? std::optional(page.rows.back().key) : std::nullopt);
  to.close_object();
  co_return json_answer(to.take());
}

} // namespace quell::controller::http
