// GET /v1/tree: the children of a scope or an operation, with counts, from the live ledger.
#include <sstream>

#include "gateway/presenter.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"
#include "protocol/base64.hpp"
#include "protocol/encoding.hpp"

namespace quell::controller::http {

namespace {

std::string prefix_of_places(branches_of what) { return "tree " + std::to_string(static_cast<int>(what)) + ' '; }

std::string place_text(branches_of what, const tree_place& p) {
  return base64url(prefix_of_places(what) + std::to_string(p.slot) + ' ' + std::to_string(p.seq) + ' ' +
                   (p.is_stopping ? "1" : "0") + ' ' + p.scope);
}

std::optional<tree_place> read_place(branches_of what, std::string_view text) {
  const auto plain = from_base64url(text);
  const auto prefix = prefix_of_places(what);
  if (!plain || !plain->starts_with(prefix)) return std::nullopt;
  std::istringstream words(plain->substr(prefix.size()));
  tree_place p;
  if (!(words >> p.slot >> p.seq >> p.is_stopping)) return std::nullopt;
  words >> p.scope;
  if (!p.scope.empty() && !scope_path::parse(p.scope)) return std::nullopt;
  return p;
}

tree_question read_question(const exchange& x) {
  query_reader query(x.req);
  tree_question q;
  q.operation = query.id<operation_id>("parent");
  q.scope = query.scope("scope");
  const auto by = query.one("by").value_or("scope");
  if (by != "scope" && by != "parent") query.complain("by", "must be scope or parent");
  if (q.operation && q.scope) query.complain("scope", "give either a scope or a parent");
  q.what = q.operation ? branches_of::operation : by == "parent" ? branches_of::roots : branches_of::scope;
  q.limit = query.limit();
  if (const auto cursor = query.one("cursor")) {
    q.after = read_place(q.what, *cursor);
    if (!q.after)
      query.complain("cursor",
                     "is not a cursor of this listing; use next_cursor of an answer with the same parameters");
  }
  query.finish();
  if (q.scope)
    need_scope(x, *q.scope);
  else if (!q.operation)
    q.scope = x.who.prefix;
  return q;
}

} // namespace

awaitable<response> get_tree(exchange& x) {
  auto& gw = x.gw;
  need(x, right::look_at_workers);
  const auto q = read_question(x);
  if (q.operation) co_await visible_row(x, *q.operation);
  const auto ask = [&gw, q](auto reply) { gw.controller.branches(q, std::move(reply)); };
  const auto page = co_await gw.answer<tree_page>(ask);
  std::vector<operation_id> ids;
  for (const auto& branch : page.operations) ids.push_back(branch.id);
  auto rows = co_await find_rows(gw, std::move(ids));
  const auto shown = co_await present(gw, std::move(rows));
  json_writer to;
  to.open_object().field("event", std::to_string(page.event));
  to.field("live", page.live).field("cancelling", page.cancelling);
  to.key("scopes").open_array();
  for (const auto& scope : page.scopes) write_scope(to, scope);
  to.close_array();
  to.key("operations").open_array();
  std::size_t next = 0;
  for (const auto& branch : page.operations) {
    if (next == shown.size() || shown[next].row.id != branch.id) continue; // its row was dropped meanwhile
    to.open_object().key("operation");
    write_operation(to, shown[next++], gw.options.worker_lease);
    to.field("children", branch.children).field("below", branch.below);
    to.close_object();
  }
  to.close_array();
  to.field("next_cursor", page.next ? std::optional(place_text(q.what, *page.next)) : std::nullopt);
  to.close_object();
  co_return json_answer(to.take());
}

} // namespace quell::controller::http
