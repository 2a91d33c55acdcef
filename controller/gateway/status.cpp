// /v1/status, /v1/scopes, /healthz, /readyz, /metrics, /v1/openapi.json.
#include "controller/gateway/cluster_json.hpp"
#include "controller/gateway/encoding.hpp"
#include "controller/gateway/openapi.hpp"
#include "controller/gateway/query_reader.hpp"
#include "controller/gateway/rights.hpp"
#include "protocol/base64.hpp"

namespace quell::controller::http {

namespace {

awaitable<cluster_view> look_at_cluster(core& gw) {
  co_return co_await gw.answer<cluster_view>([&gw](auto reply) { gw.controller.cluster(std::move(reply)); });
}

void family(std::string& out, std::string_view name, std::string_view help, std::string_view type) {
  out += "# HELP " + std::string(name) + ' ' + std::string(help) + "\n# TYPE " + std::string(name) + ' ' +
         std::string(type) + '\n';
}

} // namespace

awaitable<response> get_status(exchange& x) {
  query_reader(x.req).finish();
  const auto cluster = co_await look_at_cluster(x.gw);
  co_return json_answer(status_json(cluster, x.gw.options.version, x.gw.options.commit, x.gw.options.started_at));
}

awaitable<response> list_scopes(exchange& x) {
  auto& gw = x.gw;
  need(x, right::look_at_workers);
  query_reader query(x.req);
  auto prefix = query.scope("prefix");
  const bool live = query.flag("live").value_or(false);
  const auto limit = query.limit();
  std::optional<scope_path> after;
  if (const auto text = query.one("cursor")) {
    const auto plain = from_base64url(*text);
    const auto parsed = scope_path::parse(plain.value_or(""));
    if (parsed)
      after = *parsed;
    else
      query.complain("cursor",
                     "is not a cursor of this listing; use next_cursor of an answer with the same parameters");
  }
  query.finish();
  if (prefix)
    need_scope(x, *prefix);
  else
    prefix = x.who.prefix;
  auto call = [&gw, prefix, live, after, limit](auto reply) {
    gw.controller.scopes(prefix, live, after, limit + 1, std::move(reply));
  };
  auto found = co_await gw.answer<std::vector<scope_view>>(call);
  const bool more = found.size() > limit;
  if (more) found.resize(limit);
  json_writer to;
  to.open_object().key("scopes").open_array();
  for (const auto& scope : found) write_scope(to, scope);
  to.close_array();
  to.field("next_cursor", more ? std::optional(base64url(found.back().scope.text())) : std::nullopt);
  to.close_object();
  co_return json_answer(to.take());
}

awaitable<response> get_health(exchange&) { co_return json_answer("{\"healthy\":true}"); }

awaitable<response> get_ready(exchange& x) {
  if (x.gw.stopping)
    throw problem{.code = "shutting_down", .detail = "quelld is shutting down; ask again when it is back"};
  // The controller answers when its books stand and it takes orders: with a million live operations seconds after the
  // port is open.
  bool is_ready = false;
  try {
    co_await look_at_cluster(x.gw);
    is_ready = true;
  } catch (const problem& p) {
    if (p.code != "internal") throw;
  }
  if (!is_ready)
    throw problem{.code = "not_ready",
                  .detail = "quelld still reads its store; orders wait until it has",
                  .headers = {{"Retry-After", "1"}}};
  co_return json_answer("{\"ready\":true}");
}

awaitable<response> get_openapi(exchange&) { co_return json_answer(std::string(openapi_document())); }

awaitable<response> get_metrics(exchange& x) {
  if (!x.gw.options.metrics_public) co_await authenticate(x);
  const auto cluster = co_await look_at_cluster(x.gw);
  std::string out;
  family(out, "quell_operations_live", "Live operations by status.", "gauge");
  for (const auto& [name, count] : cluster.operations)
    out += "quell_operations_live{status=\"" + name + "\"} " + std::to_string(count) + '\n';
  family(out, "quell_workers", "Enrolled workers by status.", "gauge");
  for (const auto& [name, count] : cluster.workers)
    out += "quell_workers{status=\"" + name + "\"} " + std::to_string(count) + '\n';
  family(out, "quell_cancels_open", "Cancels that are not settled.", "gauge");
  out += "quell_cancels_open " + std::to_string(cluster.cancels_open) + '\n';
  family(out, "quell_oldest_open_cancel_seconds", "Age of the oldest open cancel, 0 if there is none.", "gauge");
  out += "quell_oldest_open_cancel_seconds " + std::to_string(cluster.oldest_open_cancel_ms.value_or(0) / 1000) + '\n';
  family(out, "quell_seq", "The last seq that was handed out.", "counter");
  out += "quell_seq " + std::to_string(cluster.seq) + '\n';
  family(out, "quell_http_connections", "Open HTTP connections.", "gauge");
  out += "quell_http_connections " + std::to_string(x.gw.connections) + '\n';
  family(out, "quell_http_event_streams", "Open event streams.", "gauge");
  out += "quell_http_event_streams " + std::to_string(x.gw.event_streams) + '\n';
  family(out, "quell_http_requests_total", "HTTP requests by status code of the answer.", "counter");
  for (const auto& [code, count] : x.gw.answers_by_status)
    out += "quell_http_requests_total{code=\"" + std::to_string(code) + "\"} " + std::to_string(count) + '\n';
  response answer;
  answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
  answer.body = std::move(out);
  co_return answer;
}

} // namespace quell::controller::http
