// GET /v1/operations/{id}, with the long poll until it ends.
#include "gateway/cancel_body.hpp"
#include "gateway/presenter.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

/// Reads the operation, and waits for its end if `waits`. Apart from `get_operation`, since its frame is large and most
/// requests are for what is known.
static awaitable<response> read_operation(exchange& x, operation_id id, bool waits, std::uint64_t wait_ms) {
  auto& gw = x.gw;
  const auto activity = gw.known.activity();
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  auto wake = std::make_shared<signal>(*gw.io);
  std::shared_ptr<void> ticket, held;
  if (waits) held = x.hold();
  if (waits) ticket = gw.hub.watch(id, wake); // before the row is read, so that an end in between wakes this handler
  auto row = co_await visible_row(x, id);
  auto shown = co_await present_one(gw, std::move(row));
  while (waits && !is_terminal(shown.row.hot.now) && !gw.stopping) {
    const bool woken = co_await x.wait(wake, until);
    row = co_await visible_row(x, id);
    shown = co_await present_one(gw, std::move(row));
    if (!woken) break;
  }
  auto text = operation_text(gw, shown);
  if (depends_on_row_alone(shown)) gw.known.keep_text(shown.row, text);
  if (!waits && depends_on_core_alone(shown)) gw.known.keep_live_text(id, text, activity);
  co_return json_answer(std::move(text));
}

awaitable<response> get_operation(exchange& x) {
  auto& gw = x.gw;
  const auto id = path_id<operation_id>(x);
  query_reader query(x.req);
  const auto wait = query.one("wait");
  if (wait && *wait != "ended") query.complain("wait", "must be ended");
  const auto wait_ms = query.number("wait_ms", 0, static_cast<std::uint64_t>(max_wait.count())).value_or(30'000);
  query.finish();
  if (const auto* known = gw.known.find(id); known && sees_at_once(x, known->row)) {
    const auto* text = gw.known.text_of(*known); // a wait is for what is not over
    if (text && (!wait || known->text)) co_return json_answer(*text);
  }
  co_return co_await read_operation(x, id, wait.has_value(), wait_ms);
}

} // namespace quell::controller::http
