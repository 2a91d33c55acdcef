// Turn aliases for existing clients (SURFACE 11): /api/turns/active and /api/turns/{id}/abort, in exactly their format.
#include <nlohmann/json.hpp>

#include "gateway/cancel_perform.hpp"
#include "gateway/presenter.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

constexpr std::uint32_t turn_page_rows = 500;
constexpr std::size_t most_turns = 10'000;

response no_such_turn() { return json_answer(R"({"error":"Turn not found or already completed"})", 404); }

response aborted(const operation_id& id) {
  json_writer to;
  to.open_object();
  to.field("ok", true).field("turnId", id);
  to.close_object();
  return json_answer(to.take());
}

void write_turn(json_writer& to, const shown_operation& op) {
  const auto block = nlohmann::json::parse(op.kind_data, nullptr, false);
  const auto text = [&](const char* key) -> std::optional<std::string> {
    if (!block.is_object() || !block.contains(key) || !block[key].is_string()) return std::nullopt;
    return block[key].get<std::string>();
  };
  std::uint64_t calls = 0;
  if (block.is_object() && block.contains("tool_calls") && block["tool_calls"].is_number_unsigned())
    calls = block["tool_calls"].get<std::uint64_t>();
  const auto since = op.row.hot.started_at.value_or(op.row.created_at);
  to.open_object();
  to.field("turnId", op.row.id).field("nousId", text("agent").value_or("")).field("sessionId", op.row.scope);
  to.field("startedAt", since.time_since_epoch().count());
  to.field("currentTool", text("current_tool")).field("toolCallCount", calls);
  to.close_object();
}

/// True if its own work has ended, and not by a stop: only processes that are still ending remain.
bool has_completed(const records::operation_record& row) {
  return row.hot.self_status ? *row.hot.self_status != status::cancelled
                             : is_terminal(row.hot.now) && row.hot.now != status::cancelled;
}

/// The row after a cancel that was performed; nullopt if the store cannot tell.
awaitable<std::optional<records::operation_record>> row_after_cancel(exchange& x, operation_id id) {
  using row = std::optional<records::operation_record>;
  auto found =
      co_await read_after_cancel<row>("turn " + id.text() + " is being stopped", find_row(x.gw, id, lane::urgent));
  co_return found.value_or(std::nullopt);
}

/// Cancels the turn. False: it had already ended.
awaitable<bool> cancel_turn(exchange& x, operation_id id) {
  auto& gw = x.gw;
  cancel_order order;
  order.by_token = x.who;
  order.target = records::target_operation{id};
  order.if_unknown = unknown_id::is_refused;
  order.via_channel = channel_of(x.req);
  order.received = x.req.received;
  const auto done = co_await order_cancel(gw, std::move(order));
  if (done) {
    gw.cancel_reasons.put(done->record.id, {done->record.reason, done->record.by});
    co_return done->record.outcome != cancel_outcome::already_finished;
  }
  if (done.error().error.code != error_code::operation_not_found) throw from_refusal(done.error());
  co_return false;
}

} // namespace

awaitable<response> active_turns(exchange& x) {
  auto& gw = x.gw;
  need(x, right::read);
  query_reader(x.req).finish();
  records::operation_filter filter;
  filter.kinds = {kind::turn};
  filter.want_ended = false;
  filter.within = x.who.prefix;
  filter.within_operation = x.who.task;
  filter.ascending = true;
  filter.limit = turn_page_rows;
  json_writer to;
  to.open_object().key("turns").open_array();
  for (std::size_t seen = 0; seen < most_turns;) {
    auto job = [filter](store_reader& q) { return q.operations(filter); };
    auto part = co_await x.list<records::operation_record>(job);
    const auto count = part.rows.size();
    const auto shown = co_await present(gw, std::move(part.rows));
    for (const auto& op : shown) {
      filter.after_seq = op.row.seq;
      if (!is_terminal(op.row.hot.now) && !has_completed(op.row)) write_turn(to, op);
    }
    seen += count;
    if (part.cut_at) filter.after_seq = *part.cut_at;
    if (!part.cut_at && count < turn_page_rows) break;
  }
  to.close_array();
  to.close_object();
  co_return json_answer(to.take());
}

awaitable<response> abort_turn(exchange& x) {
  need(x, right::cancel);
  const auto id = operation_id::parse(x.arguments.at(0));
  if (!id) co_return no_such_turn();
  auto row = co_await find_row(x.gw, *id, lane::urgent);
  if (!row || row->kind != kind::turn) co_return no_such_turn();
  const bool visible = co_await sees(x, *row);
  if (!visible) co_return no_such_turn();
  if (x.who.task == row->id)
    throw problem{.code = error_code::forbidden,
                  .detail = "a task's token may cancel what is below its operation, not the operation itself"};
  if (has_completed(*row)) co_return no_such_turn();
  bool is_cancelled = row->hot.now == status::cancelled;
  if (!is_cancelled) {
    is_cancelled = co_await cancel_turn(x, *id);
    // It can have ended during the request.
    if (is_cancelled)
      row = co_await row_after_cancel(x, *id);
    else
      row = co_await find_row(x.gw, *id, lane::urgent);
    if (row && has_completed(*row)) co_return no_such_turn();
  }
  co_return is_cancelled || (row && row->hot.now == status::cancelled) ? aborted(*id) : no_such_turn();
}

} // namespace quell::controller::http
