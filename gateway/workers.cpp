// /v1/workers: list, get, add, drain, resume, remove.
#include "controller/cluster_json.hpp"
#include "gateway/admin_body.hpp"
#include "gateway/audited.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"
#include "gateway/small_list.hpp"
#include "protocol/join.hpp"
#include "protocol/socket.hpp"

namespace quell::controller::http {

namespace {

response worker_answer(const worker_view& worker) {
  json_writer to;
  write_worker(to, worker);
  return json_answer(to.take());
}

/// True if no endpoint can be reached from another machine.
bool is_loopback_only(const std::vector<std::string>& endpoints) {
  for (const auto& endpoint : endpoints) {
    const bool local = endpoint.find("://127.") != std::string::npos ||
                       endpoint.find("://localhost") != std::string::npos ||
                       endpoint.find("://[::1]") != std::string::npos;
    if (!local) return false;
  }
  return true;
}

problem no_such_worker_here(const std::string& name) {
  return {.code = error_code::worker_not_found,
          .detail = "there is no worker " + name.substr(0, 64) + "; `quell workers` lists them"};
}

/// Gives an order about a worker, and answers with the worker. The order is in the audit before it is answered.
awaitable<response> order_worker(exchange& x, std::string action, std::string worker,
                                 std::function<void(reply<result<worker_view>>)> order) {
  const auto changed = co_await x.gw.answer<result<worker_view>>(std::move(order));
  if (!changed) throw from_fault(changed.error());
  auto entry = audited(x, std::move(action), "worker " + worker, x.who);
  co_await std::move(entry);
  co_return worker_answer(*changed);
}

} // namespace

awaitable<response> list_workers(exchange& x) {
  auto& gw = x.gw;
  need(x, right::look_at_workers);
  const auto list = read_small_list(x.req, "workers", list_order::ascending);
  auto all =
      co_await gw.answer<std::vector<worker_view>>([&gw](auto reply) { gw.controller.workers(std::move(reply)); });
  const auto next = cut_page(all, list, [](const worker_view& w) { return w.record.name; });
  json_writer to;
  to.open_object().key("workers").open_array();
  for (const auto& worker : all) write_worker(to, worker);
  to.close_array();
  to.field("next_cursor", next);
  to.close_object();
  co_return json_answer(to.take());
}

awaitable<response> get_worker(exchange& x) {
  auto& gw = x.gw;
  need(x, right::look_at_workers);
  query_reader(x.req).finish();
  const auto name = x.arguments.at(0);
  auto call = [&gw, name](auto reply) { gw.controller.worker(name, std::move(reply)); };
  const auto worker = co_await gw.answer<std::optional<worker_view>>(call);
  if (!worker) throw no_such_worker_here(name);
  co_return worker_answer(*worker);
}

awaitable<response> add_worker(exchange& x) {
  auto& gw = x.gw;
  need_whole_cluster(x);
  const auto requested = value_or_throw(read_enrol(x.req.body));
  key_pair keys;
  if (requested.key)
    keys.public_key = *requested.key;
  else
    keys = key_pair::generate();
  const auto worker = co_await gw.answer<result<worker_view>>([&gw, &requested, &keys](auto reply) {
    gw.controller.enrol_worker(requested.name, keys.public_key, requested.labels, std::move(reply));
  });
  if (!worker) throw from_fault(worker.error());
  const join_line line{.worker = requested.name,
                       .control_endpoints = gw.options.control_endpoints,
                       .bulk_endpoints = gw.options.bulk_endpoints,
                       .server_public_key = gw.options.server_public_key,
                       .worker_secret_key = keys.secret_key};
  json_writer to;
  write_worker_open(to, *worker);
  to.field("join", to_text(line));
  const bool local = is_loopback_only(gw.options.control_endpoints);
  to.field("warning", local ? std::optional<std::string>(
                                  "quelld listens for workers on loopback only, so this line works on this machine "
                                  "only; set [workers] listen to an address that the worker can reach")
                            : std::nullopt);
  to.close_object();
  auto entry = audited(x, "worker_add", "worker " + requested.name, x.who);
  co_await std::move(entry);
  auto answer = json_answer(to.take(), 201);
  answer.headers.emplace_back("Cache-Control", "no-store");
  answer.headers.emplace_back("Location", "/v1/workers/" + requested.name);
  co_return answer;
}

awaitable<response> drain_worker(exchange& x) {
  need_whole_cluster(x);
  const auto name = x.arguments.at(0);
  auto order = [&x, name, requested = value_or_throw(read_drain(x.req.body))](auto reply) {
    x.gw.controller.drain_worker(name, requested.reason, requested.deadline, requested.tasks, x.who, std::move(reply));
  };
  return order_worker(x, "worker_drain", name, std::move(order));
}

awaitable<response> resume_worker(exchange& x) {
  need_whole_cluster(x);
  const auto name = x.arguments.at(0);
  value_or_throw(read_nothing(x.req.body));
  auto order = [&x, name](auto reply) { x.gw.controller.resume_worker(name, std::move(reply)); };
  return order_worker(x, "worker_resume", name, std::move(order));
}

awaitable<response> remove_worker(exchange& x) {
  need_whole_cluster(x);
  const auto name = x.arguments.at(0);
  query_reader query(x.req);
  const auto tasks = query.flag("cancel").value_or(false) ? worker_tasks::are_cancelled : worker_tasks::go_on;
  query.finish();
  auto order = [&x, name, tasks](auto reply) { x.gw.controller.remove_worker(name, tasks, x.who, std::move(reply)); };
  return order_worker(x, "worker_remove", name, std::move(order));
}

} // namespace quell::controller::http
