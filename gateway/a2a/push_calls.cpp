// Push notification configs: made, read, listed and deleted by the token that owns them.
#include "gateway/a2a/calls.hpp"
#include "gateway/a2a/push_sender.hpp"
#include "gateway/a2a/send_body.hpp"
#include "gateway/a2a_error.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http::a2a {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

push_sender& sender_of(exchange& x) {
  if (!x.gw.shared->push) throw a2a_error{push_not_supported, "this quelld sends no push notifications"};
  return static_cast<push_sender&>(*x.gw.shared->push); // start_push makes no other
}

void throw_if_not_stored(const result<void>& stored) {
  if (stored) return;
  if (stored.error().code == "too_many") throw a2a_error{unsupported_operation, stored.error().detail};
  throw from_fault(stored.error());
}

awaitable<operation_id> task_of_config(exchange& x, const json& params) {
  const auto agent = agent_of_path(x);
  const auto name = needed_text(params, "taskId");
  co_return co_await visible_task(x, agent, name);
}

} // namespace

void need_push_room(exchange& x) { throw_if_not_stored(sender_of(x).room_for(x.who.token_id)); }

awaitable<ordered_json> store_push_config(exchange& x, push_config config) {
  auto& to = sender_of(x);
  std::function<void(std::function<void(result<void>)>)> put = [&to, &config](auto reply) {
    to.put(config, std::move(reply));
  };
  const auto stored = co_await x.gw.answer<result<void>>(put);
  throw_if_not_stored(stored);
  co_return push_config_json(config);
}

awaitable<ordered_json> create_push_config(exchange& x, const json& params) {
  if (x.too_often) throw *x.too_often;
  need(x, right::converse);
  const auto agent = agent_of_path(x);
  const auto task = co_await task_of_config(x, params);
  auto config = read_push_config(params);
  const auto facts = co_await find_task(x.gw, task, agent);
  if (!facts || is_over(status_of(*facts).state))
    throw a2a_error{unsupported_operation, "the task is over: nothing will be notified; read it with GetTask"};
  config.task = task;
  config.by = x.who.token_id;
  config.agent = agent.name;
  config.base = agent.base;
  co_return co_await store_push_config(x, std::move(config));
}

awaitable<ordered_json> get_push_config(exchange& x, const json& params) {
  if (x.too_often) throw *x.too_often;
  const auto task = co_await task_of_config(x, params);
  const auto id = needed_text(params, "id");
  const auto all = sender_of(x).configs_of(task, x.who.token_id);
  for (const auto& one : all)
    if (one.id == id) co_return push_config_json(one);
  throw a2a_error{task_not_found, "this token has no push notification config of that id for this task"};
}

awaitable<ordered_json> list_push_configs(exchange& x, const json& params) {
  if (x.too_often) throw *x.too_often;
  const auto task = co_await task_of_config(x, params);
  ordered_json answer = {{"configs", ordered_json::array()}, {"nextPageToken", ""}};
  const auto all = sender_of(x).configs_of(task, x.who.token_id);
  for (const auto& one : all) answer["configs"].push_back(push_config_json(one));
  co_return answer;
}

awaitable<ordered_json> delete_push_config(exchange& x, const json& params) {
  need(x, right::converse);
  const auto task = co_await task_of_config(x, params);
  const auto id = needed_text(params, "id");
  auto& from = sender_of(x);
  std::function<void(std::function<void(result<void>)>)> remove = [&from, &task, &id, &x](auto reply) {
    from.remove(task, id, x.who.token_id, std::move(reply));
  };
  const auto removed = co_await x.gw.answer<result<void>>(remove);
  throw_if_not_stored(removed);
  co_return ordered_json::object();
}

} // namespace quell::controller::http::a2a
