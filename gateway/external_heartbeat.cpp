// POST /v1/operations/{id}/heartbeat and POST /v1/operations/heartbeat: the owner is alive, and receives pending stops.
#include "gateway/admin_body.hpp"
#include "gateway/external_body.hpp"
#include "gateway/external_json.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

awaitable<renewal_answer> beat(gateway_context& gw, renewal_order order) {
  auto call = [&gw, order](auto reply) { gw.controller.heartbeat(order, std::move(reply)); };
  co_return co_await gw.answer<renewal_answer>(call);
}

} // namespace

awaitable<> explain_not_live(exchange& x, operation_id id) {
  auto row = co_await visible_row(x, id);
  if (row.kind != kind::external)
    throw problem{.code = error_code::not_external,
                  .detail = "operation " + id.text() + " is a " + std::string(name_of(row.kind)) +
                            ": quell itself knows whether it lives"};
  const auto shown = co_await present_one(x.gw, std::move(row));
  throw problem{.code = error_code::already_terminal,
                .detail = "operation " + id.text() + " is " + std::string(name_of(shown.row.hot.now)) +
                          (shown.row.hot.error ? " (" + shown.row.hot.error->code + ")" : std::string()) +
                          ": stop working on it",
                .members = {{"operation", operation_text(x.gw, shown)}}};
}

awaitable<response> heartbeat_one(exchange& x) {
  need(x, right::create_external);
  const auto id = path_id<operation_id>(x);
  value_or_throw(read_nothing(x.req.body));
  renewal_order order;
  order.by = x.who;
  order.operations = {id};
  const auto answer = co_await beat(x.gw, std::move(order));
  if (!answer.unknown.empty()) co_await explain_not_live(x, id);
  co_return json_answer(heartbeat_json(id, answer));
}

awaitable<response> heartbeat_many(exchange& x) {
  need(x, right::create_external);
  auto order = co_await checked_body(x, read_heartbeat);
  order.by = x.who;
  const auto answer = co_await beat(x.gw, std::move(order));
  co_return json_answer(heartbeats_json(answer));
}

} // namespace quell::controller::http
