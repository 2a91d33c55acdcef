// GET /v1/cancels and GET /v1/cancels/{id}, with the long poll until a level is reached.
#include <algorithm>

#include "gateway/cancel_body.hpp"
#include "gateway/presenter.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

problem no_such_cancel(const cancel_id& id) {
  return {.code = error_code::cancel_not_found,
          .detail = "cancel " + id.text() +
                    " is unknown, no longer kept (store.keep_operations), or not for this token to see; `quell "
                    "cancels` lists what there is"};
}

awaitable<cancel_view> visible_cancel(exchange& x, cancel_id id) {
  auto view = co_await find_cancel(x.gw, id);
  if (!view) throw no_such_cancel(id);
  const bool visible = co_await sees(x, view->record);
  if (!visible) throw no_such_cancel(id);
  co_return std::move(*view);
}

struct cancel_list {
  records::cancel_filter filter;
  std::optional<cancel_status> exact; ///< the present state
  std::uint32_t limit = 100;
};

cancel_list read_cancel_list(const exchange& x) {
  query_reader query(x.req);
  cancel_list list;
  auto& filter = list.filter;
  filter.scopes = query.scopes("scope");
  if (const auto text = query.one("status")) {
    if (*text == "open")
      filter.only_open = true;
    else if (list.exact = parse_name<cancel_status>(*text); !list.exact)
      query.complain("status", "must be open, fenced, signalled or settled");
  }
  // Rows can be behind the ledger while a cancel is open: the store decides only `settled`.
  if (list.exact == cancel_status::settled)
    filter.status = list.exact;
  else if (list.exact)
    filter.only_open = true;
  filter.operation = query.id<operation_id>("operation");
  filter.owner = query.one("owner");
  filter.ascending = query.ascending();
  list.limit = query.limit();
  filter.after_seq = query.cursor(filter.ascending);
  query.finish();
  for (const auto& scope : filter.scopes) need_scope(x, scope);
  filter.within = x.who.prefix;
  filter.limit = std::min<std::uint32_t>(list.limit + 1, 1000);
  return list;
}

} // namespace

awaitable<response> get_cancel(exchange& x) {
  auto& gw = x.gw;
  const auto id = path_id<cancel_id>(x);
  query_reader query(x.req);
  const auto wait = query.words<cancel_status>("wait");
  if (wait.size() > 1) query.complain("wait", "may be given only once");
  const auto wait_ms = query.number("wait_ms", 0, static_cast<std::uint64_t>(max_wait.count())).value_or(30'000);
  query.finish();
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  auto wake = std::make_shared<signal>(*gw.io);
  std::shared_ptr<void> ticket, held;
  if (!wait.empty()) held = x.hold();
  if (!wait.empty()) ticket = gw.hub.watch(id, wake);
  auto view = co_await visible_cancel(x, id);
  while (!wait.empty() && static_cast<int>(view.record.status) < static_cast<int>(wait.front()) && !gw.stopping) {
    const bool woken = co_await x.wait(wake, until);
    view = co_await visible_cancel(x, id);
    if (!woken) break;
  }
  auto text = co_await cancel_text(gw, std::move(view), max_unproven_listed);
  co_return json_answer(std::move(text));
}

awaitable<response> list_cancels(exchange& x) {
  auto& gw = x.gw;
  const auto list = read_cancel_list(x);
  if (list.filter.operation) co_await visible_row(x, *list.filter.operation);
  const auto filter = list.filter;
  auto job = [filter](store_reader& q) { return q.cancels(filter); };
  auto part = co_await x.list<records::cancel_record>(job);
  auto& rows = part.rows;
  json_writer to;
  to.open_object().key("cancels").open_array();
  std::uint32_t taken = 0;
  std::uint64_t last_seq = 0;
  bool more = part.cut_at || rows.size() >= filter.limit;
  for (auto& row : rows) {
    if (taken == list.limit) {
      more = true;
      break;
    }
    ++taken;
    last_seq = row.seq;
    // A tombstone's target has no row and no scope to check, so only the token that left it can see it.
    if (x.who.task || (x.who.prefix && row.outcome == cancel_outcome::unknown_id)) {
      const bool visible = co_await sees(x, row);
      if (!visible) continue;
    }
    // Each by itself: the controller looks at as many operations as an answer shows, and a cancel can come in between.
    const auto id = row.id;
    auto call = [&gw, id](auto reply) { gw.controller.view_cancel(id, std::move(reply)); };
    std::optional<cancel_view> open;
    if (row.status != cancel_status::settled) open = co_await gw.answer<std::optional<cancel_view>>(call);
    auto view = open ? std::move(*open) : view_of_row(std::move(row));
    if (list.exact && view.record.status != *list.exact) continue;
    if (filter.only_open && view.record.status == cancel_status::settled) continue;
    auto text = co_await cancel_text(gw, std::move(view), max_unproven_listed);
    to.raw(text);
  }
  if (part.cut_at && taken < list.limit) last_seq = *part.cut_at;
  to.close_array();
  to.field("next_cursor",
           more && last_seq > 0 ? std::optional(to_text(seq_cursor{filter.ascending, last_seq})) : std::nullopt);
  to.close_object();
  co_return json_answer(to.take());
}

} // namespace quell::controller::http
