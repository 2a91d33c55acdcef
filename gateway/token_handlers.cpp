// /v1/tokens: list, create, revoke. Secrets are in the 201 only.
#include <chrono>

#include "controller/cluster_json.hpp"
#include "gateway/admin_body.hpp"
#include "gateway/audited.hpp"
#include "gateway/guarded_stream.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/recent_instant.hpp"
#include "gateway/rights.hpp"
#include "gateway/small_list.hpp"
#include "gateway/token_limits.hpp"
#include "gateway/token_making.hpp"

namespace quell::controller::http {

namespace {

/// An admin with a scope manages tokens of that scope and below; an admin without a scope, all tokens.
bool handles(const exchange& x, const records::token_record& token) {
  return !x.who.prefix || (token.scope && token.scope->is_at_or_below(*x.who.prefix));
}

/// By id, since another token can have the same name.
std::string token_text(const records::token_record& token) { return "token " + token.id.text() + " " + token.name; }

/// A token that has the id of this request already: the answer with its secret was lost, so it gets a fresh one, or
/// this throws.
const records::token_record* repeated_token(exchange& x, const token_request& requested) {
  if (!requested.id) return nullptr;
  const auto* known = x.gw.tokens.by_id(*requested.id);
  if (!known) {
    need_recent_instant(requested.id->time());
    return nullptr;
  }
  const auto owner = requested.owner.value_or(records::person{requested.name, requested.name});
  const bool is_same = handles(x, *known) && known->name == requested.name && known->role == requested.role &&
                       known->scope == requested.scope && known->owner == owner &&
                       known->expires_at == requested.expires_at;
  if (!is_same)
    throw problem{.code = error_code::id_conflict,
                  .detail = "the id " + requested.id->text() +
                            " belongs to another token; choose a fresh id, or send the same body"};
  if (known->last_used_at)
    throw problem{.code = error_code::id_conflict,
                  .detail = "the token " + requested.id->text() +
                            " exists and was used, so its secret has reached somebody; choose a fresh id"};
  return known;
}

} // namespace

awaitable<response> list_tokens(exchange& x) {
  need(x, right::administer);
  const auto list = read_small_list(x.req, "tokens", list_order::descending); // newest first: ids grow with time
  auto all = x.gw.tokens.list();
  std::erase_if(all, [&](const auto& token) { return !handles(x, token); });
  const auto next = cut_page(all, list, [](const records::token_record& t) { return t.id.text(); });
  json_writer to;
  to.open_object().key("tokens").open_array();
  for (const auto& token : all) {
    write_token_open(to, token);
    to.close_object();
  }
  to.close_array();
  to.field("next_cursor", next);
  to.close_object();
  co_return json_answer(to.take());
}

namespace {

awaitable<response> make_token(exchange& x, const token_request& requested) {
  auto& gw = x.gw;
  const auto* known = repeated_token(x, requested);
  if (auto why = known ? std::nullopt : token_refusal(gw.tokens.list(), requested.scope, x.who.prefix))
    throw problem{
        .code = error_code::too_many_operations, .detail = std::move(*why), .headers = {{"Retry-After", "60"}}};
  auto secret = fresh_token_secret();
  if (!secret) throw from_fault(secret.error());
  records::token_record record;
  record.id = requested.id.value_or(token_id::fresh());
  record.name = requested.name;
  record.role = requested.role;
  record.scope = requested.scope;
  record.hash = token_hash(*secret);
  record.owner = requested.owner.value_or(records::person{requested.name, requested.name});
  record.created_at = known ? known->created_at : std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
  record.expires_at = requested.expires_at;
  const auto done = co_await gw.answer<result<void>>(
      [&gw, &record](auto reply) { gw.controller.put_token(record, std::move(reply)); });
  if (!done) throw from_fault(done.error());
  gw.tokens.put(record);
  auto entry = audited(x, "token_create", token_text(record), x.who);
  co_await std::move(entry);
  json_writer to;
  write_token_open(to, record);
  to.field("token", *secret);
  to.close_object();
  auto answer = json_answer(to.take(), 201);
  answer.headers.emplace_back("Cache-Control", "no-store");
  co_return answer;
}

} // namespace

awaitable<response> create_token(exchange& x) {
  need(x, right::administer);
  auto requested = value_or_throw(read_token(x.req.body));
  if (!requested.scope) requested.scope = x.who.prefix;
  if (requested.scope) need_scope(x, *requested.scope);
  if (!requested.id) co_return co_await make_token(x, requested);
  if (!x.gw.makings) x.gw.makings = std::make_shared<token_makings>();
  auto making =
      x.gw.makings->make_once(*x.gw.io, *requested.id, x.who.token_id + '\n' + x.req.body, make_token(x, requested));
  co_return co_await std::move(making);
}

awaitable<response> delete_token(exchange& x) {
  auto& gw = x.gw;
  need(x, right::administer);
  const auto id = path_id<token_id>(x);
  query_reader(x.req).finish();
  const auto* record = gw.tokens.by_id(id);
  if (!record || !handles(x, *record))
    throw problem{.code = error_code::token_not_found,
                  .detail = "there is no token " + id.text() + "; `quell token list` shows them"};
  const auto kept = *record;
  // Dropped here first: from now on nobody gets in with it, and no record of its use is written after its end.
  gw.tokens.drop(id);
  const auto done =
      co_await gw.answer<result<void>>([&gw, id](auto reply) { gw.controller.drop_token(id, std::move(reply)); });
  if (!done) {
    gw.tokens.put(kept); // on disk it is still valid
    throw from_fault(done.error());
  }
  gw.tokens.drop(id); // it can have been made again meanwhile, with a fresh secret; the store has dropped that one, too
  gw.sign_ins.end_token(id.text());
  end_streams_of_ended_tokens(gw);
  auto entry = audited(x, "token_revoke", token_text(kept), x.who);
  co_await std::move(entry);
  co_return empty_answer();
}

} // namespace quell::controller::http
