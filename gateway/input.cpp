// POST /v1/operations/{id}/input and …/resize: the user's input and the size of the window.
#include "gateway/admin_body.hpp"
#include "gateway/presenter.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

/// The operation if it is running and the caller may send input to it.
awaitable<shown_operation> running_task(exchange& x, operation_id id) {
  need(x, right::steer);
  auto row = co_await visible_row(x, id);
  if (x.who.task == id)
    throw problem{.code = error_code::forbidden,
                  .detail = "a task's token may steer what is below its operation, not the operation itself"};
  auto shown = co_await present_one(x.gw, std::move(row));
  if (is_terminal(shown.row.hot.now))
    throw problem{.code = error_code::already_terminal,
                  .detail = "operation " + id.text() + " has ended, nothing reads its input any more",
                  .members = {{"operation", '"' + id.text() + '"'}}};
  co_return shown;
}

void need_started(const shown_operation& op) {
  if (op.row.hot.worker && op.row.hot.now != status::pending) return;
  throw problem{.code = error_code::not_started,
                .detail = "operation " + op.row.id.text() + " has not started yet; try again when it runs"};
}

constexpr std::chrono::seconds hand_over_timeout{5};
constexpr std::chrono::milliseconds longest_pause{50};

/// Waits until the worker has handed the accepted input to the task: a crash of quelld would lose the rest, so the
/// client must keep it until then. Bounded, since a task can read as slowly as it likes.
awaitable<output_store::input_progress> handed_over(gateway_context& gw, operation_id id, std::uint64_t taken) {
  const auto until = std::chrono::steady_clock::now() + hand_over_timeout;
  auto reached = gw.output.input_reached(id, taken);
  for (std::chrono::milliseconds pause{1}; !gw.stopping; pause = std::min(2 * pause, longest_pause)) {
    const auto now = std::chrono::steady_clock::now();
    if ((reached.handed >= taken && reached.end_handed) || reached.is_closed || now >= until) break;
    signal tick(*gw.io);
    co_await tick.wait_until(std::min(now + pause, until));
    reached = gw.output.input_reached(id, taken);
  }
  co_return reached;
}

} // namespace

awaitable<response> post_input(exchange& x) {
  auto& gw = x.gw;
  const auto id = path_id<operation_id>(x);
  query_reader query(x.req);
  const auto offset = query.number("offset", 0, std::numeric_limits<std::int64_t>::max());
  if (!offset) query.complain("offset", "is missing: say how many bytes were sent before these");
  const bool is_end = query.flag("end").value_or(false);
  const auto then = is_end ? stdin_then::closed : stdin_then::open;
  query.finish();
  const auto op = co_await running_task(x, id);
  if (!op.row.task.stdin_open && !op.row.task.pty)
    throw from_errors({{error_code::invalid_field, "/task/stdin",
                        "was not asked for when the task was created: its stdin is /dev/null"}});
  need_started(op);
  // Counted, and never refused for the bytes of others: a Ctrl-C is input, too.
  x.note_brought(op.row.scope, x.who.owner.id, x.body_bytes);
  auto& output = gw.output;
  const auto worker = *op.row.hot.worker;
  const auto at = *offset;
  auto body = std::move(x.req.body);
  auto job = [&output, id, worker, at, then, body = std::move(body)](store_reader&) -> result<result<std::uint64_t>> {
    return output.input(id, worker, at, body, then);
  };
  const auto taken = co_await gw.read<result<std::uint64_t>>(job);
  if (!taken) {
    if (has_code(taken.error(), error_code::not_found))
      throw problem{.code = error_code::already_terminal, .detail = taken.error().detail};
    throw from_fault(taken.error());
  }
  const auto reached = co_await handed_over(gw, id, *taken);
  json_writer to;
  to.open_object();
  to.field("offset", std::min(reached.handed, *taken))
      .field("end", is_end && (reached.end_handed || reached.is_closed));
  to.close_object();
  co_return json_answer(to.take());
}

awaitable<response> post_resize(exchange& x) {
  auto& gw = x.gw;
  const auto id = path_id<operation_id>(x);
  const auto size = value_or_throw(read_resize(x.req.body));
  const auto op = co_await running_task(x, id);
  if (!op.row.task.pty)
    throw from_errors(
        {{error_code::invalid_field, "/task/pty", "was not asked for when the task was created: it has no window"}});
  need_started(op);
  const auto done = co_await gw.answer<result<void>>(
      [&gw, id, size](auto reply) { gw.controller.resize(id, size.rows, size.columns, std::move(reply)); });
  if (!done) throw from_fault(done.error());
  co_return empty_answer();
}

} // namespace quell::controller::http
