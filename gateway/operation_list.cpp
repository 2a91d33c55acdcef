// GET /v1/operations: pages of committed rows, overlaid and filtered with their present state.
#include <algorithm>

#include "gateway/presenter.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

/// The most rows of the store that one request reads before it returns a cursor, and those of one page.
constexpr std::size_t most_rows = 10'000;
constexpr std::uint32_t page_rows = 500;
constexpr std::uint32_t growth = 4;

/// Rows of the first page. One more than requested shows whether there are more. With a filter that only the ledger can
/// decide, most rows usually pass: pages begin small and grow.
std::uint32_t first_page(std::uint32_t limit) { return std::min(std::max(limit + 1, 16U), page_rows); }

struct operation_list_request {
  records::operation_filter filter;
  std::vector<status> statuses; ///< exact; empty = all
  std::uint32_t limit = 100;
};

/// `status=`: exact ones, `live` and `ended`, all OR.
void read_statuses(query_reader& query, operation_list_request& into) {
  for (const auto& text : query.many("status")) {
    if (const auto exact = parse_name<status>(text)) {
      into.statuses.push_back(*exact);
    } else if (text == "live") {
      for (const auto s : {status::pending, status::running, status::paused, status::cancelling})
        into.statuses.push_back(s);
    } else if (text == "ended") {
      for (const auto s : {status::completed, status::failed, status::cancelled}) into.statuses.push_back(s);
    } else {
      query.complain("status",
                     "must be live, ended, pending, running, paused, cancelling, completed, failed or cancelled");
    }
  }
  if (into.statuses.empty()) return;
  into.filter.want_live = into.filter.want_ended = false;
  for (const auto s : into.statuses) {
    if (!is_terminal(s)) {
      into.filter.want_live = true;
    } else {
      into.filter.want_ended = true;
      into.filter.ended_statuses.push_back(s);
    }
  }
}

void read_labels(query_reader& query, operation_list_request& into) {
  for (const auto& text : query.many("label")) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      query.complain("label", "must be KEY=VALUE");
    else
      into.filter.labels.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
}

operation_list_request read_operation_list(const exchange& x) {
  query_reader query(x.req);
  operation_list_request list;
  auto& filter = list.filter;
  filter.scopes = query.scopes("scope");
  read_statuses(query, list);
  filter.kinds = query.words<kind>("kind");
  filter.names = query.many("name");
  filter.owners = query.many("owner");
  filter.workers = query.many("worker");
  read_labels(query, list);
  filter.parents = query.ids<operation_id>("parent");
  filter.roots = query.ids<operation_id>("root");
  filter.below = query.id<operation_id>("below");
  filter.covered_by = query.id<cancel_id>("cancel");
  filter.since = query.instant("since");
  filter.until = query.instant("until");
  filter.errors = query.many("error");
  filter.ended_since = query.instant("ended_since");
  filter.ended_until = query.instant("ended_until");
  filter.ascending = query.ascending();
  list.limit = query.limit();
  filter.after_seq = query.cursor(filter.ascending);
  query.finish();
  for (const auto& scope : filter.scopes) need_scope(x, scope);
  filter.within = x.who.prefix;
  filter.within_operation = x.who.task;
  return list;
}

} // namespace

awaitable<response> list_operations(exchange& x) {
  auto& gw = x.gw;
  auto list = read_operation_list(x);
  // An operation or cancel in the request that the caller cannot see is treated as missing.
  if (list.filter.below) co_await visible_row(x, *list.filter.below);
  if (list.filter.covered_by) {
    auto cancel = co_await find_cancel(gw, *list.filter.covered_by);
    bool visible = false;
    if (cancel) visible = co_await sees(x, cancel->record);
    if (!visible)
      throw problem{.code = error_code::cancel_not_found,
                    .detail = "there is no cancel " + list.filter.covered_by->text() + " that this token may see"};
  }
  json_writer to;
  to.open_object().key("operations").open_array();
  std::uint32_t found = 0;
  std::uint64_t last_seq = 0;
  bool more = true;
  std::uint32_t page = first_page(list.limit);
  for (std::size_t read = 0; read < most_rows && more && found < list.limit; read += page, page *= growth) {
    auto filter = list.filter;
    page = std::min(page, page_rows);
    filter.limit = list.statuses.empty() ? list.limit - found + 1 : page;
    if (last_seq > 0) filter.after_seq = last_seq;
    auto job = [filter](store_reader& q) { return q.operations(filter); };
    auto part = co_await x.list<records::operation_record>(job);
    more = part.cut_at || part.rows.size() >= filter.limit;
    const auto shown = co_await present(gw, std::move(part.rows));
    for (const auto& op : shown) {
      if (found == list.limit) {
        more = true;
        break;
      }
      last_seq = op.row.seq;
      if (!list.statuses.empty() &&
          std::find(list.statuses.begin(), list.statuses.end(), op.row.hot.now) == list.statuses.end())
        continue;
      write_operation(to, op, gw.options.worker_lease);
      ++found;
    }
    if (part.cut_at && found < list.limit) { // the client continues from here, after others who wait
      last_seq = *part.cut_at;
      break;
    }
  }
  to.close_array();
  to.field("next_cursor",
           more && last_seq > 0 ? std::optional(to_text(seq_cursor{list.filter.ascending, last_seq})) : std::nullopt);
  to.close_object();
  co_return json_answer(to.take());
}

} // namespace quell::controller::http
