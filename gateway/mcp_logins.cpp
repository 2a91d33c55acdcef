// /v1/mcp: list, login in two steps with a browser between them, logout. Tokens never leave quelld.
#include "gateway/mcp_logins.hpp"

#include "actors/turns/turn_scheduler.hpp"
#include "controller/json/json_writer.hpp"
#include "gateway/audited.hpp"
#include "gateway/body.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"
#include "gateway/small_list.hpp"

namespace quell::controller::http {

using turns::mcp_accounts;

namespace {

mcp_accounts& accounts_of(exchange& x) {
  need_whole_cluster(x);
  auto* all = x.gw.options.turns ? x.gw.options.turns->accounts() : nullptr;
  if (!all) throw problem{.code = error_code::mcp_server_not_found, .detail = "no MCP servers are configured"};
  return *all;
}

void write(json_writer& to, const mcp_accounts::shown& one) {
  const auto& s = one.settings;
  to.open_object();
  to.field("name", s.name).field("kind", turns::is_remote_agent(s.name) ? "agent" : s.url.empty() ? "command" : "url");
  to.field("url", s.url.empty() ? std::nullopt : std::optional(s.url));
  to.field("per", s.per_turn ? "turn" : "cluster");
  to.key("login");
  if (one.login) {
    const auto text = [](const std::string& t) { return t.empty() ? std::nullopt : std::optional(t); };
    to.open_object();
    to.field("logged_in", one.login->logged_in).field("renewable", one.login->renewable);
    to.field("issuer", text(one.login->issuer)).field("scope", text(one.login->scope));
    to.field("expires_at", one.login->expires_at).field("trouble", text(one.login->trouble));
    to.close_object();
  } else {
    to.put(nullptr);
  }
  to.field("trouble", one.trouble.empty() ? std::nullopt : std::optional(one.trouble));
  to.close_object();
}

response answer_about(const mcp_accounts& all, const std::string& name) {
  json_writer to;
  for (const auto& one : all.all())
    if (one.settings.name == name) write(to, one);
  return json_answer(to.take());
}

std::string redirect_of(std::string_view text) {
  auto body = value_or_throw(parse_body(text));
  std::vector<field_error> errors;
  body_reader fields(body, "", errors);
  const auto uri = fields.text("redirect_uri", 1, 512);
  if (!uri && !fields.has("redirect_uri")) fields.complain("redirect_uri", "is missing");
  fields.finish();
  if (!errors.empty()) throw from_errors(std::move(errors));
  return *uri;
}

integrations::oauth::authorization_answer answer_of(std::string_view text) {
  constexpr std::size_t most = 8192;
  auto body = value_or_throw(parse_body(text));
  std::vector<field_error> errors;
  body_reader fields(body, "", errors);
  integrations::oauth::authorization_answer answer;
  const auto state = fields.text("state", 1, most);
  if (!state && !fields.has("state")) fields.complain("state", "is missing");
  answer.state = state.value_or("");
  answer.code = fields.text("code", 0, most).value_or("");
  answer.issuer = fields.text("iss", 0, most).value_or("");
  answer.error = fields.text("error", 0, most).value_or("");
  answer.error_description = fields.text("error_description", 0, most).value_or("");
  fields.finish();
  if (!errors.empty()) throw from_errors(std::move(errors));
  return answer;
}

} // namespace

awaitable<response> list_mcp(exchange& x) {
  const auto& accounts = accounts_of(x);
  const auto list = read_small_list(x.req, "mcp", list_order::ascending);
  auto all = accounts.all();
  const auto next = cut_page(all, list, [](const mcp_accounts::shown& one) { return one.settings.name; });
  json_writer to;
  to.open_object().key("servers").open_array();
  for (const auto& one : all) write(to, one);
  to.close_array();
  to.field("next_cursor", next);
  to.close_object();
  co_return json_answer(to.take());
}

awaitable<response> begin_mcp_login(exchange& x) {
  auto& accounts = accounts_of(x);
  const auto name = x.arguments.at(0);
  const auto uri = redirect_of(x.req.body);
  const auto begun = co_await x.gw.answer<result<mcp_accounts::started>>(
      [&accounts, &name, &uri](auto reply) { accounts.begin(name, uri, std::move(reply)); });
  if (!begun) throw from_fault(begun.error());
  json_writer to;
  to.open_object();
  to.field("authorization_url", begun->url).field("state", begun->state);
  to.close_object();
  auto answer = json_answer(to.take());
  answer.headers.emplace_back("Cache-Control", "no-store");
  co_return answer;
}

awaitable<response> finish_mcp_login(exchange& x) {
  auto& accounts = accounts_of(x);
  const auto name = x.arguments.at(0);
  const auto brought = answer_of(x.req.body);
  const auto done = co_await x.gw.answer<result<void>>(
      [&accounts, &name, &brought](auto reply) { accounts.finish(name, brought, std::move(reply)); });
  if (!done) throw from_fault(done.error());
  auto entry = audited(x, "mcp_login", "MCP server " + name, x.who);
  co_await std::move(entry);
  co_return answer_about(accounts, name);
}

awaitable<response> mcp_logout(exchange& x) {
  auto& accounts = accounts_of(x);
  query_reader(x.req).finish();
  const auto name = x.arguments.at(0);
  const auto was = accounts.log_out(name);
  if (!was) throw from_fault(was.error());
  if (*was) {
    auto entry = audited(x, "mcp_logout", "MCP server " + name, x.who);
    co_await std::move(entry);
  }
  co_return answer_about(accounts, name);
}

} // namespace quell::controller::http
