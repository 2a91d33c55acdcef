// The table of routes, and the only place where problems and exceptions of handlers become answers.
#include "gateway/router.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <span>

#include <spdlog/spdlog.h>

#include "gateway/a2a_error.hpp"
#include "gateway/a2a_handlers.hpp"
#include "gateway/approving.hpp"
#include "gateway/audit_list.hpp"
#include "gateway/compat_handlers.hpp"
#include "gateway/console.hpp"
#include "gateway/cors.hpp"
#include "gateway/guarded_stream.hpp"
#include "gateway/history_handlers.hpp"
#include "gateway/mcp_logins.hpp"
#include "gateway/openai_error.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"
#include "protocol/clock_now.hpp"

namespace quell::controller::http {

namespace {

enum class access : std::uint8_t { open, token };
/// `small`: JSON of a few fields.
enum class body_kind : std::uint8_t { none, small, json, bytes };
/// How a token's limits of requests and bytes apply to a route. Cancels are never refused for load, nor are ends of
/// work, whose bytes are counted.
enum class load : std::uint8_t { counted, may_be_cancel, ends_work, cancel };

constexpr bool is_never_refused(load rate) { return rate == load::cancel || rate == load::ends_work; }

struct route {
  std::string_view method;
  std::string_view path; ///< segments; `*` matches one and passes it to the handler
  handler handle;
  access who = access::token;
  body_kind body = body_kind::none;
  load rate = load::counted;
};

constexpr auto routes = std::to_array<route>({
    {"POST", "/v1/cancels", create_cancel, access::token, body_kind::small, load::cancel},
    {"GET", "/v1/cancels", list_cancels},
    {"GET", "/v1/cancels/*", get_cancel},
    {"POST", "/v1/operations", create_operation, access::token, body_kind::json},
    {"GET", "/v1/operations", list_operations},
    {"POST", "/v1/operations/batch", create_batch, access::token, body_kind::json},
    {"POST", "/v1/operations/end", end_externals, access::token, body_kind::json, load::ends_work},
    {"POST", "/v1/operations/heartbeat", heartbeat_many, access::token, body_kind::json, load::cancel},
    {"POST", "/v1/operations/*/start", start_external, access::token, body_kind::small},
    {"POST", "/v1/operations/*/complete", complete_external, access::token, body_kind::json, load::ends_work},
    {"POST", "/v1/operations/*/fail", fail_external, access::token, body_kind::json, load::ends_work},
    {"POST", "/v1/operations/*/stopped", external_stopped, access::token, body_kind::small, load::cancel},
    {"POST", "/v1/operations/*/heartbeat", heartbeat_one, access::token, body_kind::small, load::cancel},
    {"GET", "/v1/operations/*/signal", get_signal},
    {"GET", "/v1/signals", get_signals},
    {"GET", "/v1/operations/*", get_operation},
    {"POST", "/v1/operations/*/cancel", cancel_operation, access::token, body_kind::small, load::cancel},
    {"POST", "/v1/operations/*/resolve", resolve_operation, access::token, body_kind::small},
    {"GET", "/v1/operations/*/output", get_output},
    {"POST", "/v1/operations/*/input", post_input, access::token, body_kind::bytes},
    {"POST", "/v1/operations/*/resize", post_resize, access::token, body_kind::small},
    {"GET", "/v1/operations/*/events", get_operation_events},
    {"POST", "/v1/operations/*/approve", approve, access::token, body_kind::json},
    {"POST", "/v1/operations/*/deny", deny, access::token, body_kind::small},
    {"POST", "/v1/messages", post_message, access::token, body_kind::json, load::may_be_cancel},
    {"GET", "/v1/messages", list_messages},
    {"POST", "/v1/blobs", post_blob, access::token, body_kind::bytes},
    {"GET", "/v1/blobs/*", get_blob},
    {"POST", "/v1/ui/chat", post_ui_chat, access::token, body_kind::json, load::may_be_cancel},
    {"GET", "/v1/ui/chat/*/stream", get_ui_stream},
    {"POST", "/openai/v1/chat/completions", post_completion, access::token, body_kind::json, load::may_be_cancel},
    {"GET", "/openai/v1/models", list_models},
    {"GET", "/a2a/*/.well-known/agent-card.json", a2a::get_card},
    {"POST", "/a2a/*", a2a::post_rpc, access::token, body_kind::json, load::may_be_cancel},
    {"POST", "/a2a/*/message:send", a2a::post_send, access::token, body_kind::json, load::may_be_cancel},
    {"POST", "/a2a/*/message:stream", a2a::post_stream, access::token, body_kind::json, load::may_be_cancel},
    {"GET", "/a2a/*/tasks", a2a::get_tasks},
    {"GET", "/a2a/*/tasks/*", a2a::get_one_task},
    {"POST", "/a2a/*/tasks/*", a2a::post_to_task, access::token, body_kind::small, load::may_be_cancel},
    {"POST", "/a2a/*/tasks/*/pushNotificationConfigs", a2a::post_push_config, access::token, body_kind::json},
    {"GET", "/a2a/*/tasks/*/pushNotificationConfigs", a2a::get_push_configs},
    {"GET", "/a2a/*/tasks/*/pushNotificationConfigs/*", a2a::get_one_push_config},
    {"DELETE", "/a2a/*/tasks/*/pushNotificationConfigs/*", a2a::delete_one_push_config},
    {"POST", "/v1/history", change_history, access::token, body_kind::json},
    {"POST", "/v1/chat/*/*", chat_call, access::open, body_kind::bytes},
    {"GET", "/v1/chat/*/*", chat_call, access::open},
    {"GET", "/v1/events", get_events},
    {"GET", "/v1/scopes", list_scopes},
    {"GET", "/v1/tree", get_tree},
    {"GET", "/v1/cost", get_cost},
    {"POST", "/v1/sessions", create_session, access::open, body_kind::small},
    {"GET", "/v1/sessions/current", get_session},
    {"DELETE", "/v1/sessions/current", delete_session},
    {"POST", "/v1/sessions/links", create_session_link, access::token, body_kind::small},
    {"GET", "/v1/status", get_status},
    {"GET", "/v1/config", get_config},
    {"POST", "/v1/config/reload", reload_configuration, access::token, body_kind::small},
    {"GET", "/v1/workers", list_workers},
    {"POST", "/v1/workers", add_worker, access::token, body_kind::small},
    {"GET", "/v1/workers/*", get_worker},
    {"DELETE", "/v1/workers/*", remove_worker},
    {"POST", "/v1/workers/*/drain", drain_worker, access::token, body_kind::small},
    {"POST", "/v1/workers/*/resume", resume_worker, access::token, body_kind::small},
    {"POST", "/v1/workers/*/resolve", resolve_worker, access::token, body_kind::small},
    {"GET", "/v1/mcp", list_mcp},
    {"POST", "/v1/mcp/*/login", begin_mcp_login, access::token, body_kind::small},
    {"POST", "/v1/mcp/*/login/finish", finish_mcp_login, access::token, body_kind::small},
    {"DELETE", "/v1/mcp/*/login", mcp_logout},
    {"GET", "/v1/audit", list_audit},
    {"GET", "/v1/tokens", list_tokens},
    {"POST", "/v1/tokens", create_token, access::token, body_kind::small},
    {"DELETE", "/v1/tokens/*", delete_token},
    {"GET", "/v1/approvals/rules", list_approval_rules},
    {"DELETE", "/v1/approvals/rules/*", delete_approval_rule},
    {"GET", "/api/turns/active", active_turns},
    {"POST", "/api/turns/*/abort", abort_turn, access::token, body_kind::none, load::cancel},
    {"GET", "/v1/openapi.json", get_openapi, access::open},
    {"GET", "/healthz", get_health, access::open},
    {"GET", "/readyz", get_ready, access::open},
    {"GET", "/metrics", get_metrics, access::open}, // checks the token itself, unless public
});

/// True if the segments of `path`, as far as they are not wildcards, are those of `pattern`.
bool has_form_of(std::string_view pattern, std::string_view path) {
  while (true) {
    const auto pattern_end = pattern.find('/', 1), path_end = path.find('/', 1);
    const auto expected = pattern.substr(0, pattern_end);
    if (expected != "/*" && expected != path.substr(0, path_end)) return false;
    if (pattern_end == std::string_view::npos || path_end == std::string_view::npos) return pattern_end == path_end;
    pattern.remove_prefix(pattern_end);
    path.remove_prefix(path_end);
  }
}

/// The decoded wildcards if `path` matches `pattern`.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
  if (!has_form_of(pattern, path)) return std::nullopt;
  std::vector<std::string> arguments;
  while (true) {
    const auto pattern_end = pattern.find('/', 1), path_end = path.find('/', 1);
    const auto expected = pattern.substr(0, pattern_end), given = path.substr(0, path_end);
    if (expected == "/*") {
      auto decoded = percent_decoded(given.substr(std::min<std::size_t>(1, given.size())), plus_sign::literal);
      if (!decoded || decoded->empty()) return std::nullopt;
      arguments.push_back(std::move(*decoded));
    }
    if (pattern_end == std::string_view::npos) return arguments;
    pattern.remove_prefix(pattern_end);
    path.remove_prefix(path_end);
  }
}

constexpr route console_route{"GET", "/", get_console, access::open};

constexpr std::size_t slashes_in(std::string_view path) {
  return static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
}

/// The number of slashes of each route, which tells most of them from a path without comparing a segment.
constexpr auto slashes_of_routes = [] {
  std::array<std::size_t, routes.size()> all{};
  for (std::size_t i = 0; i < routes.size(); ++i) all[i] = slashes_in(routes[i].path);
  return all;
}();

/// Finds the route and puts its arguments into `x`. Throws `not_found` or `method_not_allowed`.
const route& find_route(exchange& x) {
  std::string allowed;
  const auto slashes = slashes_in(x.req.path);
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (slashes_of_routes[i] != slashes) continue;
    const auto& candidate = routes[i];
    auto arguments = match(candidate.path, x.req.path);
    if (!arguments) continue;
    if (candidate.method == x.req.method || (candidate.method == "GET" && x.req.method == "HEAD")) {
      x.arguments = std::move(*arguments);
      x.route = candidate.path;
      return candidate;
    }
    if (!allowed.empty()) allowed += ", ";
    allowed += candidate.method;
  }
  const bool reads = x.req.method == "GET" || x.req.method == "HEAD";
  if (allowed.empty() && reads && is_of_console(x.req.path, x.req.accept)) {
    x.route = console_route.path;
    return console_route;
  }
  if (allowed.empty())
    throw problem{.code = error_code::not_found,
                  .detail = "there is nothing at " + x.req.path.substr(0, 200) +
                            "; GET /v1/openapi.json lists what there is"};
  throw problem{.code = error_code::method_not_allowed,
                .detail = x.req.method.substr(0, 20) + " is not possible at " + x.req.path.substr(0, 200) +
                          "; possible: " + allowed,
                .headers = {{"Allow", allowed}}};
}

/// An empty content type with an empty body is accepted, because there is nothing to misread.
void check_content_type(const exchange& x, const route& to) {
  if (to.body == body_kind::small && x.req.body.size() > large_body_bytes)
    throw problem{.code = error_code::too_large,
                  .detail = "the body is larger than " + std::to_string(large_body_bytes) +
                            " bytes, which nothing that is asked here needs"};
  if (to.body == body_kind::bytes || to.body == body_kind::none || x.req.body.empty()) return;
  auto type = x.req.content_type.substr(0, x.req.content_type.find(';'));
  std::transform(type.begin(), type.end(), type.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  while (!type.empty() && type.back() == ' ') type.pop_back();
  if (type == "application/json" || (type == "application/a2a+json" && a2a::speaks_a2a(x.req.path))) return;
  throw problem{.code = error_code::unsupported_media_type,
                .detail = "the body is " + (type.empty() ? "of no stated type" : type.substr(0, 64)) +
                          "; send JSON with the header Content-Type: application/json"};
}

/// Refuses a request beyond the token's rate, or lets the handler refuse it. The bootstrap token belongs to the owner
/// of the machine and has no limit.
void check_rate(exchange& x, const route& to) {
  auto& gw = x.gw;
  if (gw.options.requests_per_second <= 0 || is_never_refused(to.rate) || (!x.token && !x.who.task)) return;
  if (gw.rates.take(x.share_key(), 1, x.req.received)) return;
  problem p{.code = error_code::rate_limited,
            .detail = "token '" + x.who.token_name + "' sends more than " +
                      std::to_string(static_cast<std::uint64_t>(gw.options.requests_per_second)) +
                      " requests a second (limits.requests_per_second); wait a second, or watch events instead of "
                      "asking. Cancels are always taken.",
            .headers = {{"Retry-After", "1"}}};
  ++gw.metrics.refused_for_rate;
  if (to.rate == load::counted) throw p;
  x.too_often = std::move(p);
}

/// While all ordinary connections are at work, the reserved ones serve only cancels.
void check_reserve(exchange& x, const route& to) {
  if (is_never_refused(to.rate) || !x.req.client || !x.req.client->is_reserved()) return;
  problem p{.code = error_code::rate_limited,
            .detail = "there are " + std::to_string(x.gw.options.max_connections) +
                      " connections, which is the limit, and all are at work; come again later. Cancels are always "
                      "taken.",
            .headers = {{"Retry-After", "1"}}};
  if (to.rate == load::counted) throw p;
  x.too_often = std::move(p);
}

/// Counts the body for its token. A day's bytes are available at once and come back steadily.
void check_bytes(exchange& x, const route& to) {
  auto* quota = x.gw.options.bytes;
  if (!quota || x.req.body.empty() || to.rate == load::cancel || to.who == access::open) return;
  if (x.too_often && to.rate == load::may_be_cancel) return; // only a stop is taken, and those are free
  x.body_bytes = x.req.body.size();
  if (to.rate == load::ends_work) return quota->add(x.byte_source_of_token(), x.body_bytes);
  const auto refused = quota->take(x.byte_source_of_token(), x.body_bytes);
  if (!refused) return;
  auto p = x.bytes_problem(*refused);
  if (to.rate == load::counted) throw p;
  x.too_often = std::move(p);
}

awaitable<response> handle(exchange& x) {
  const auto& to = find_route(x);
  check_reserve(x, to);
  if (x.gw.stopping && to.who == access::token)
    throw problem{.code = error_code::shutting_down,
                  .detail = "quelld is shutting down; nothing was done, repeat the request when it is back"};
  if (to.who == access::token) co_await authenticate(x);
  check_content_type(x, to);
  if (to.body == body_kind::json || to.body == body_kind::small)
    query_reader(x.req).finish(); // so that a mistaken ?dry_run=true is refused instead of ignored
  check_rate(x, to);
  check_bytes(x, to);
  auto answer = co_await to.handle(x);
  if (to.who == access::token || x.token) answer.holder = x.share_key();
  end_with_token(x, answer);
  co_return answer;
}

void log_problem(const exchange& x, const problem& p, unsigned status) {
  if (status >= 500)
    spdlog::warn("request {} ({} {}) failed with {} {}: {}", x.req.id.text(), x.req.method, x.req.path.substr(0, 200),
                 status, text_of(p.code), p.detail);
  else
    spdlog::debug("request {} ({} {}) was refused with {} {}: {}", x.req.id.text(), x.req.method,
                  x.req.path.substr(0, 200), status, text_of(p.code), p.detail);
}

} // namespace

response json_answer(std::string body, unsigned status) {
  response answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

response empty_answer() {
  response answer;
  answer.status = 204;
  answer.content_type.clear();
  return answer;
}

static response refused_with(const problem& p, const request& req) {
  if (a2a::speaks_a2a(req.path)) return a2a::problem_answer(p, req);
  return speaks_openai(req.path) ? openai_error_answer(p, req.id) : problem_answer(p, req.id);
}

response problem_answer(const problem& p, const request_id& id) {
  response answer;
  answer.status = kind_of_problem(p.code).status;
  answer.content_type = "application/problem+json";
  answer.headers = p.headers;
  answer.body = problem_json(p, id);
  return answer;
}

awaitable<response> answer_request(gateway_context& gw, request req) {
  exchange x{.gw = gw, .req = std::move(req), .who = {}, .token = {}, .signed_in = {}, .arguments = {}};
  response answer;
  try {
    auto preflight = preflight_answer(gw.options, x.req);
    if (preflight)
      answer = std::move(*preflight);
    else
      answer = co_await handle(x);
  } catch (const problem& p) {
    answer = refused_with(p, x.req);
    log_problem(x, p, answer.status);
  } catch (const std::exception& e) {
    spdlog::error("request {} ({} {}) broke off: {}", x.req.id.text(), x.req.method, x.req.path.substr(0, 200),
                  e.what());
    answer = refused_with({.code = error_code::internal,
                           .detail = "an unexpected error; the log of quelld says more under the id in /request"},
                          x.req);
  }
  add_cors_headers(gw.options, x.req, answer);
  ++gw.metrics.answers_by_status[answer.status];
  gw.metrics.answered(x.route.empty() ? "" : x.req.method, x.route,
                      static_cast<double>((clock_now().boot - x.req.received).count()) / 1e9);
  co_return answer;
}

} // namespace quell::controller::http
