// One transaction takes the old exchanges away and begins the new turn.
#include "gateway/compat/asked_again.hpp"

#include "gateway/audited.hpp"

namespace quell::controller::http {

awaitable<std::optional<operation_id>> turn_of_page_message(exchange& x, scope_path scope, std::string id) {
  constexpr std::uint32_t most_rows = 64; // scopes below have messages of their own
  records::operation_filter filter;
  filter.scopes = {scope};
  filter.kinds = {kind::turn};
  filter.labels.emplace_back(page_message_label, std::move(id));
  filter.limit = most_rows;
  auto job = [filter](store_reader& q) { return q.operations(filter); };
  const auto part = co_await x.list<records::operation_record>(job);
  for (const auto& row : part.rows)
    if (row.scope == scope) co_return row.id;
  if (part.cut_at)
    throw problem{.code = error_code::not_changeable,
                  .detail = "the message is too far back in scope " + scope.text() + " to be asked again"};
  co_return std::nullopt;
}

awaitable<> ask_again(exchange& x, client_turn& begun, const client_request& wanted, std::optional<operation_id> from) {
  turns::history_order change;
  change.by = x.who;
  change.scope = begun.order.scope;
  change.what = turns::history_order::action::regenerate;
  change.labels = begun.order.labels;
  change.from = from;
  change.client = begun.order.client;
  change.via_channel = begun.order.via_channel;
  if (wanted.again == client_request::again_as::edited) {
    change.text = begun.order.text;
    change.files = begun.order.files;
  } else if (!from) {
    change.expect_text = begun.order.text;
  }
  auto call = [&x, &change](auto reply) { x.gw.options.turns->rewrite(change, std::move(reply)); };
  const auto done = co_await x.gw.answer<outcome<turns::history_answer>>(call);
  if (!done) throw from_refusal(done.error());
  begun.decided.decision = turns::message_answer::decided::turn;
  begun.decided.turn = done->operation;
  begun.decided.message = done->message;
  if (!wanted.outlives_client) begun.owned = owned_by_client(x, begun);
  auto entry = audited(x, "history_regenerate", "scope " + change.scope.text(), x.who);
  co_await std::move(entry);
}

} // namespace quell::controller::http
