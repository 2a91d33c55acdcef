// One task: read, cancelled, subscribed to.
#include "gateway/a2a/calls.hpp"
#include "gateway/a2a/send_body.hpp"
#include "gateway/a2a_error.hpp"
#include "gateway/body.hpp"
#include "gateway/cancel_perform.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http::a2a {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view usual_reason = "cancelled over A2A";

/// `metadata.reason`, if the client gives one.
std::string reason_of(const json& params) {
  const auto metadata = params.find("metadata");
  if (metadata == params.end() || !metadata->is_object()) return std::string(usual_reason);
  const auto reason = value_at<std::string>(*metadata, "reason");
  return reason.empty() || reason.size() > max_reason ? std::string(usual_reason) : reason;
}

awaitable<task_facts> facts_of_kept(exchange& x, operation_id id, const served_agent& agent) {
  auto facts = co_await find_task(x.gw, id, agent);
  if (!facts) throw a2a_error{task_not_found, "the task is no longer kept"};
  co_return std::move(*facts);
}

/// A fault of the store after a cancel that was performed leaves no doubt about the cancel.
awaitable<task_facts> facts_after_cancel(exchange& x, operation_id id, const served_agent& agent) {
  auto facts =
      co_await read_after_cancel<task_facts>("task " + id.text() + " is being cancelled", facts_of_kept(x, id, agent));
  if (facts) co_return std::move(*facts);
  throw problem{.code = error_code::storage_unavailable,
                .detail = "the task is being cancelled, but its state cannot be read now; ask for it with GetTask"};
}

cancel_order order_for(const exchange& x, const operation_id& id, const json& params) {
  cancel_order order;
  order.by_token = x.who;
  order.target = records::target_operation{id};
  order.if_unknown = unknown_id::is_refused;
  order.reason = reason_of(params);
  order.via_channel = "a2a";
  order.received = x.req.received;
  return order;
}

} // namespace

awaitable<ordered_json> get_task(exchange& x, const json& params) {
  if (x.too_often) throw *x.too_often;
  const auto agent = agent_of_path(x);
  const auto name = needed_text(params, "id");
  const auto id = co_await visible_task(x, agent, name);
  const auto facts = co_await facts_of_kept(x, id, agent);
  co_return task_json(facts);
}

awaitable<ordered_json> cancel_task(exchange& x, const json& params) {
  need(x, right::cancel);
  const auto agent = agent_of_path(x);
  const auto name = needed_text(params, "id");
  const auto id = co_await visible_task(x, agent, name);
  auto order = order_for(x, id, params);
  const auto done = co_await order_cancel(x.gw, std::move(order), service::may_target::live_target);
  if (done) {
    x.gw.cancel_reasons.put(done->record.id, {done->record.reason, done->record.by});
    const auto facts = co_await facts_after_cancel(x, id, agent);
    co_return task_json(facts);
  }
  if (done.error().error.code != error_code::operation_not_found) throw from_refusal(done.error());
  const auto facts = co_await facts_of_kept(x, id, agent); // it has ended
  if (is_over(status_of(facts).state))
    throw a2a_error{task_not_cancelable, "the task is over: " + std::string(name_of_state(status_of(facts).state))};
  co_return task_json(facts);
}

awaitable<response> subscribe(exchange& x, const json& params, as_frame wrap) {
  if (x.too_often) throw *x.too_often;
  const auto agent = agent_of_path(x);
  auto held = x.hold();
  const auto name = needed_text(params, "id");
  const auto id = co_await visible_task(x, agent, name);
  const auto newest = [](store_reader& q) { return q.newest_event(); };
  const auto after = co_await x.gw.read<std::uint64_t>(newest, lane::urgent);
  auto facts = co_await facts_of_kept(x, id, agent);
  if (is_over(status_of(facts).state)) throw a2a_error{unsupported_operation, "the task is over; read it with GetTask"};
  co_return streamed_task(x, agent, std::move(facts), after, std::move(wrap), std::move(held));
}

} // namespace quell::controller::http::a2a
