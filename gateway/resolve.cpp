// POST …/resolve: an admin declares an operation dead.
#include "gateway/cancel_body.hpp"
#include "gateway/presenter.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

awaitable<response> resolve_operation(exchange& x) {
  auto& gw = x.gw;
  const auto id = path_id<operation_id>(x);
  need(x, right::administer);
  const auto reason = value_or_throw(read_resolve(x.req.body));
  const auto row = co_await visible_row(x, id);
  const auto refuse_ended = [&](const records::operation_record& ended) {
    if (is_terminal(ended.hot.now))
      throw problem{.code = error_code::already_terminal,
                    .detail = "operation " + id.text() + " is " + std::string(name_of(ended.hot.now)) +
                              " already; there is nothing to declare",
                    .members = {{"operation", '"' + id.text() + '"'}}};
  };
  refuse_ended(row);
  const auto by = x.who;
  auto call = [&gw, id, reason, by](auto reply) { gw.controller.declare_dead(id, reason, by, std::move(reply)); };
  const auto done = co_await gw.answer<outcome<operation_id>>(call);
  auto now = co_await visible_row(x, id);
  if (!done) {
    if (done.error().error.code == error_code::operation_not_found) refuse_ended(now); // it ended meanwhile
    throw from_refusal(done.error());
  }
  const auto shown = co_await present_one(gw, std::move(now));
  co_return json_answer(operation_text(gw, shown));
}

awaitable<response> resolve_worker(exchange& x) {
  auto& gw = x.gw;
  need_whole_cluster(x);
  const auto name = x.arguments.at(0);
  const auto reason = value_or_throw(read_resolve(x.req.body));
  const auto by = x.who;
  auto call = [&gw, name, reason, by](auto reply) {
    gw.controller.declare_worker_dead(name, reason, by, std::move(reply));
  };
  const auto done = co_await gw.answer<outcome<std::size_t>>(call);
  if (!done) throw from_refusal(done.error());
  json_writer to;
  to.open_object();
  to.field("worker", name).field("operations", *done);
  to.close_object();
  co_return json_answer(to.take());
}

} // namespace quell::controller::http
