// POST /v1/history: clear, compact, edit, delete, ask again or copy a conversation.
#include "gateway/audited.hpp"
#include "gateway/history_body.hpp"
#include "gateway/history_handlers.hpp"
#include "gateway/presenter.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

void need_conversation(exchange& x, const scope_path& scope, const char* field) {
  need_scope(x, scope);
  need_unreserved(scope, field);
}

std::string answer_text(const turns::history_order& order, const turns::history_answer& a) {
  json_writer to;
  to.open_object();
  to.field("scope", order.scope.text()).field("action", std::string_view(name_of_change(order.what)));
  to.field("to", order.to ? std::optional(order.to->text()) : std::nullopt);
  to.field("seq", a.seq).field("message", a.message).field("operation", a.operation).field("messages", a.messages);
  to.close_object();
  return to.take();
}

} // namespace

awaitable<response> change_history(exchange& x) {
  auto& gw = x.gw;
  if (!gw.options.turns) throw problem{.code = error_code::not_found, .detail = "this quelld answers no messages"};
  need(x, right::converse);
  auto order = value_or_throw(read_history_change(x.req.body));
  need_conversation(x, order.scope, "/scope");
  if (order.to) need_conversation(x, *order.to, "/to");
  x.bring(order.to.value_or(order.scope), x.who.owner.id);
  order.by = x.who;
  using decision = outcome<turns::history_answer>;
  // Named, not a temporary inside co_await: g++ 12 destroys the captures of such a temporary twice.
  auto call = [&gw, &order](auto reply) { gw.options.turns->rewrite(order, std::move(reply)); };
  const auto done = co_await gw.answer<decision>(call);
  if (!done) throw from_refusal(done.error());
  // Where they are copied to, as if they had been sent.
  x.note_copied(order.to.value_or(order.scope), x.who.owner.id, done->bytes);
  std::string target = "scope " + order.scope.text();
  if (order.message) target += ", message " + order.message->text();
  if (order.to) target += ", to scope " + order.to->text();
  auto entry = audited(x, std::string("history_") + name_of_change(order.what), std::move(target), x.who);
  co_await std::move(entry);
  co_return json_answer(answer_text(order, *done), done->operation ? 202 : 200);
}

} // namespace quell::controller::http
