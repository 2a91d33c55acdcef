// Tokens to callers, and the rights and visibility of callers.
#include "gateway/rights.hpp"

#include <chrono>

#include "gateway/presenter.hpp"
#include "gateway/sign_in_handlers.hpp"
#include "gateway/token_caller.hpp"
#include "protocol/encoding.hpp"
#include "protocol/reserved_scopes.hpp"

namespace quell::controller::http {

namespace {

std::string_view name_of_right(right what) {
  switch (what) {
  case right::read:
    return "read this";
  case right::cancel:
    return "cancel";
  case right::cancel_everything:
    return "cancel everything";
  case right::create_external:
    return "create external operations";
  case right::converse:
    return "send messages or decide about calls";
  case right::create_task:
    return "create tasks";
  case right::steer:
    return "send input to tasks";
  case right::look_at_workers:
    return "look at workers and scopes";
  case right::administer:
    return "administer";
  }
  return "do this";
}

problem unauthenticated(std::string detail) {
  return {.code = error_code::unauthenticated,
          .detail = std::move(detail),
          .headers = {{"WWW-Authenticate", "Bearer realm=\"quell\""}}};
}

wall_time now() { return std::chrono::floor<milliseconds>(std::chrono::system_clock::now()); }

/// The secret in `Bearer SECRET`.
std::optional<std::string> bearer_of(std::string_view header) {
  constexpr std::string_view scheme = "bearer ";
  bool is_bearer = header.size() > scheme.size();
  for (std::size_t i = 0; is_bearer && i < scheme.size(); ++i)
    is_bearer = (header[i] >= 'A' && header[i] <= 'Z' ? header[i] - 'A' + 'a' : header[i]) == scheme[i];
  if (!is_bearer) return std::nullopt;
  std::string secret(header.substr(scheme.size()));
  while (!secret.empty() && secret.back() == ' ') secret.pop_back();
  return secret;
}

/// A task's token is valid while its operation lives.
awaitable<> authenticate_task(exchange& x, operation_id id) {
  auto& gw = x.gw;
  const auto views = co_await gw.answer<std::vector<std::optional<live_view>>>(
      [&gw, id](auto reply) { gw.controller.views({id}, std::move(reply)); });
  if (views.empty() || !views.front())
    throw unauthenticated("the operation of this task token has ended, and its token with it");
  if (!gw.task_owners.find(id)) {
    const auto row = co_await find_row(gw, id, lane::urgent);
    if (!row) throw unauthenticated("the operation of this task token is not known here");
    gw.task_owners.put(id, {row->owner, row->scope, row->via_token_id});
  }
  x.who.role = role::task;
  x.who.task = id;
  x.who.owner = gw.task_owners.find(id)->owner;
  x.who.token_name = "task " + id.text();
  x.who.token_id = "task:" + id.text();
}

} // namespace

bool has_known_token(gateway_context& gw, std::string_view authorization) {
  const auto secret = bearer_of(authorization);
  if (!secret) return false;
  const auto hash = token_hash(*secret);
  if (!gw.admin_hash.empty() && equal_in_constant_time(hash, gw.admin_hash)) return true;
  return gw.tokens.find_hash(hash, now()) != nullptr;
}

awaitable<> authenticate(exchange& x) {
  const std::string& header = x.req.authorization;
  const auto bearer = bearer_of(header);
  const bool is_bearer = bearer.has_value();
  if (!is_bearer && header.empty() && authenticate_by_cookie(x)) co_return;
  if (!is_bearer)
    throw unauthenticated(
        "the request has no token; send the header 'Authorization: Bearer TOKEN' (QUELL_TOKEN, or client.json)");
  const std::string& secret = *bearer;
  auto& gw = x.gw;
  const auto hash = token_hash(secret);
  if (!gw.admin_hash.empty() && equal_in_constant_time(hash, gw.admin_hash)) {
    x.who = bootstrap_caller(gw.options.admin_owner);
    co_return;
  }
  if (const auto task = verify_task_token(secret, gw.options.task_token_key)) {
    co_await authenticate_task(x, *task);
    co_return;
  }
  const auto* record = gw.tokens.find_hash(hash, now());
  if (!record) {
    if (const auto* expired = gw.tokens.find_expired(secret, now()))
      throw unauthenticated("the token '" + expired->name + "' expired at " + instant_text(*expired->expires_at) +
                            "; ask an admin for a new one (`quell token create`)");
    throw unauthenticated("the token is unknown or revoked; ask an admin for one (`quell token create`)");
  }
  x.who = caller_of_token(*record);
  x.token = record->id;
  if (auto used = gw.tokens.use_to_store(record->id)) gw.controller.put_token(std::move(*used), [](const auto&) {});
}

void need(const exchange& x, right what) {
  if (may(x.who.role, what)) return;
  throw problem{.code = error_code::forbidden,
                .detail = "the role " + std::string(name_of(x.who.role)) + " of token '" + x.who.token_name +
                          "' may not " + std::string(name_of_right(what)) + "; use a token with a wider role"};
}

void need_whole_cluster(const exchange& x) {
  need(x, right::administer);
  if (!x.who.prefix) return;
  throw problem{.code = error_code::forbidden,
                .detail = "workers and MCP servers belong to the whole cluster and this admin token only to scope " +
                          x.who.prefix->text() + "; use an admin token without scope"};
}

void need_scope(const exchange& x, const scope_path& named) {
  if (!x.who.prefix || named.is_at_or_below(*x.who.prefix)) return;
  throw problem{.code = error_code::scope_forbidden,
                .detail = "scope " + named.text() + " lies outside the token's scope " + x.who.prefix->text() +
                          "; name a scope at or below it"};
}

void need_unreserved(const scope_path& named, const char* pointer) {
  if (is_reserved(named)) throw from_errors({{error_code::bad_scope, pointer, reserved_scope_words}});
}

void need_to_act_for_others(const exchange& x, std::string_view field) {
  if (x.who.role == role::chat || x.who.role == role::operator_ || x.who.role == role::admin) return;
  throw problem{.code = error_code::forbidden,
                .detail = "the role " + std::string(name_of(x.who.role)) + " may not act for others; leave out " +
                          std::string(field)};
}

problem no_such_operation(const operation_id& id) {
  return {.code = error_code::operation_not_found,
          .detail = "operation " + id.text() +
                    " is unknown, no longer kept (store.keep_operations), or not for this token to see; `quell ps "
                    "--all` lists what there is"};
}

bool sees_at_once(const exchange& x, const records::operation_record& row) {
  return !x.who.task && (!x.who.prefix || row.scope.is_at_or_below(*x.who.prefix));
}

awaitable<bool> sees(exchange& x, records::operation_record row) {
  if (x.who.prefix && !row.scope.is_at_or_below(*x.who.prefix)) co_return false;
  if (!x.who.task || row.id == *x.who.task || row.parent == x.who.task) co_return true;
  const auto task = *x.who.task;
  const auto id = row.id;
  const bool below = co_await x.gw.read<bool>([id, task](store_reader& q) { return q.is_below(id, task); });
  co_return below;
}

awaitable<records::operation_record> visible_row(exchange& x, operation_id id) {
  auto row = co_await find_row(x.gw, id);
  if (!row) throw no_such_operation(id);
  const bool visible = co_await sees(x, *row);
  if (!visible) throw no_such_operation(id);
  co_return std::move(*row);
}

awaitable<bool> sees(exchange& x, records::cancel_record cancel) {
  if (!x.who.prefix && !x.who.task) co_return true;
  if (const auto* operation = std::get_if<records::target_operation>(&cancel.target)) {
    auto row = co_await find_row(x.gw, operation->id);
    // A tombstone has no operation: only the token that left it can see it.
    if (!row) co_return !cancel.via_token_id.empty() && cancel.via_token_id == x.who.token_id;
    const bool visible = co_await sees(x, std::move(*row));
    co_return visible;
  }
  if (x.who.task) co_return false;
  std::optional<scope_path> covered;
  if (const auto* scope = std::get_if<records::target_scope>(&cancel.target)) covered = scope->scope;
  if (const auto* owner = std::get_if<records::target_owner>(&cancel.target)) covered = owner->below;
  if (const auto* all = std::get_if<records::target_everything>(&cancel.target)) covered = all->below;
  co_return covered && covered->is_at_or_below(*x.who.prefix);
}

} // namespace quell::controller::http
