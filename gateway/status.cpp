// /v1/status, /v1/config, /v1/scopes, /healthz, /readyz, /v1/openapi.json.
#include <filesystem>

#include "controller/cluster_json.hpp"
#include "gateway/audited.hpp"
#include "gateway/openapi.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"
#include "protocol/base64.hpp"
#include "protocol/encoding.hpp"
#include "protocol/nearest.hpp"

namespace quell::controller::http {

namespace {

/// The beginning of every cursor of scopes: a cursor of another list is refused.
constexpr std::string_view cursor_mark = "scope ";

awaitable<cluster_view> look_at_cluster(gateway_context& gw) {
  co_return co_await gw.answer<cluster_view>([&gw](auto reply) { gw.controller.cluster(std::move(reply)); });
}

/// The counts of live operations in a scope and below it; zeros if nothing lives there.
awaitable<scope_view> look_at_scope(gateway_context& gw, scope_path scope) {
  auto call = [&gw, scope](auto reply) {
    gw.controller.scopes(scope, listed_scopes::live, std::nullopt, 1, std::move(reply));
  };
  auto found = co_await gw.answer<std::vector<scope_view>>(call);
  scope_view inside;
  // The first one is the scope itself, if anything lives there.
  if (!found.empty() && found.front().scope == scope) inside = std::move(found.front());
  inside.scope = scope;
  co_return inside;
}

void write_store(json_writer& to, const gateway_context& gw) {
  std::error_code error;
  const auto space = std::filesystem::space(gw.options.state_directory, error);
  to.open_object();
  to.field("low", gw.controller.storage_low());
  to.field("free_bytes", error ? std::nullopt : std::optional<std::uint64_t>(space.available));
  to.field("reserve_bytes", gw.options.store_reserve_bytes);
  to.close_object();
}

void write_chat_services(json_writer& to, const gateway_context& gw) {
  to.open_array();
  if (gw.options.chat_services)
    for (const auto& one : gw.options.chat_services()) {
      to.open_object();
      to.field("name", one.name).field("working", one.is_working).field("state", one.state);
      to.close_object();
    }
  to.close_array();
}

} // namespace

awaitable<response> get_status(exchange& x) {
  query_reader(x.req).finish();
  const auto cluster = co_await look_at_cluster(x.gw);
  const auto& options = x.gw.options;
  json_writer to;
  if (!x.who.prefix && !x.who.task) {
    write_status_open(to, cluster, options.version, options.commit, options.started_at);
    write_store(to.key("store"), x.gw);
    write_chat_services(to.key("chat_services"), x.gw);
  } else {
    // How much others do is not for a token of one scope, nor are errors of chat services, which name hosts and
    // channels.
    std::optional<scope_view> inside;
    if (!x.who.task) inside = co_await look_at_scope(x.gw, *x.who.prefix);
    write_partial_status_open(to, cluster, inside ? &*inside : nullptr, options.version, options.commit,
                              options.started_at);
    to.field("store", nullptr).field("chat_services", nullptr);
  }
  to.close_object();
  co_return json_answer(to.take());
}

awaitable<response> get_config(exchange& x) {
  need_whole_cluster(x);
  query_reader(x.req).finish();
  response answer;
  answer.content_type = "application/toml";
  if (x.gw.options.configuration) answer.body = x.gw.options.configuration();
  co_return answer;
}

awaitable<response> reload_configuration(exchange& x) {
  need_whole_cluster(x);
  query_reader(x.req).finish();
  if (!x.gw.options.reload)
    throw problem{.code = error_code::not_found, .detail = "this quelld has no configuration to reload"};
  auto call = [&x](auto reply) { x.gw.options.reload(std::move(reply)); };
  const auto done = co_await x.gw.answer<result<std::vector<std::string>>>(call);
  if (!done) throw from_fault(done.error());
  auto entry = audited(x, "reload", done->empty() ? "nothing changed" : listed(*done), x.who);
  co_await std::move(entry);
  json_writer to;
  to.open_object().key("changed").open_array();
  for (const auto& place : *done) to.put(place);
  to.close_array();
  to.close_object();
  co_return json_answer(to.take());
}

awaitable<response> list_scopes(exchange& x) {
  auto& gw = x.gw;
  need(x, right::look_at_workers);
  query_reader query(x.req);
  auto prefix = query.scope("prefix");
  const auto which = query.flag("live").value_or(false) ? listed_scopes::live : listed_scopes::all;
  const auto limit = query.limit();
  std::optional<scope_path> after;
  if (const auto text = query.one("cursor")) {
    const auto plain = from_base64url(*text).value_or("");
    const auto parsed = scope_path::parse(plain.starts_with(cursor_mark) ? plain.substr(cursor_mark.size()) : "");
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
  auto call = [&gw, prefix, which, after, limit](auto reply) {
    gw.controller.scopes(prefix, which, after, limit + 1, std::move(reply));
  };
  auto found = co_await gw.answer<std::vector<scope_view>>(call);
  const bool more = found.size() > limit;
  if (more) found.resize(limit);
  json_writer to;
  to.open_object().key("scopes").open_array();
  for (const auto& scope : found) write_scope(to, scope);
  to.close_array();
  to.field("next_cursor",
           more ? std::optional(base64url(std::string(cursor_mark) + found.back().scope.text())) : std::nullopt);
  to.close_object();
  co_return json_answer(to.take());
}

awaitable<response> get_health(exchange&) { co_return json_answer("{\"healthy\":true}"); }

awaitable<response> get_ready(exchange& x) {
  if (x.gw.stopping)
    throw problem{.code = error_code::shutting_down, .detail = "quelld is shutting down; ask again when it is back"};
  // The controller answers once its tables are built and it takes orders: with a million live operations that is
  // seconds after the port is open.
  bool is_ready = false;
  try {
    co_await look_at_cluster(x.gw);
    is_ready = true;
  } catch (const problem& p) {
    if (p.code != error_code::internal) throw;
  }
  if (!is_ready)
    throw problem{.code = error_code::not_ready,
                  .detail = "quelld still reads its store; orders wait until it has",
                  .headers = {{"Retry-After", "1"}}};
  if (x.gw.controller.storage_low())
    throw problem{.code = error_code::storage_unavailable,
                  .detail = "the state directory is almost full: cancels are taken, starts are refused until there is "
                            "space (store.reserve)",
                  .headers = {{"Retry-After", "5"}}};
  co_return json_answer("{\"ready\":true}");
}

awaitable<response> get_openapi(exchange&) { co_return json_answer(std::string(openapi_document())); }

} // namespace quell::controller::http
