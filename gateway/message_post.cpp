// POST /v1/messages: a message is a stop, a turn or neither. The decision is returned as JSON, or streamed as SSE with
// the events that follow.
#include "gateway/blob_use.hpp"
#include "gateway/event_stream.hpp"
#include "gateway/message_body.hpp"
#include "gateway/operation_create.hpp"
#include "gateway/presenter.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

/// The client that streams a turn owns it: `owned` is stopped if the client disconnects before its end.
awaitable<> stream_events(thread_context& here, events_request requested, std::uint64_t after, stream_manner manner,
                          std::shared_ptr<owned_turn> owned, stream_writer& to) {
  ++here.event_streams;
  const std::shared_ptr<void> counted(nullptr, [&here](void*) { --here.event_streams; });
  auto watcher = here.hub.watch(requested.filter, false);
  watcher->shows_live = true;
  event_stream events(here, requested, {after}, std::move(watcher), to, std::move(manner));
  try {
    co_await events.run();
  } catch (...) { // the store, for example: no fault of the client
    if (owned) owned->goes_on(owned_turn::broke_off);
    throw;
  }
  if (owned) settle(*owned, events, to);
}

} // namespace

awaitable<> know_lost_clients(gateway_context& gw) {
  auto* const clients = gw.options.turns->clients();
  if (clients->are_known()) co_return;
  auto call = [clients](auto reply) { clients->when_known(std::move(reply)); };
  co_await gw.answer<bool>(call);
}

void settle(owned_turn& owned, const event_stream& events, const stream_writer& to) {
  if (events.has_ended())
    owned.ended();
  else if (to.made_room())
    owned.goes_on(owned_turn::made_room);
  else
    owned.client_gone();
}

awaitable<response> post_message(exchange& x) {
  auto& gw = x.gw;
  if (!gw.options.turns) throw problem{.code = error_code::not_found, .detail = "this quelld answers no messages"};
  need(x, right::converse);
  auto request = co_await checked_body(x, read_message);
  auto& order = request.order;
  need_scope(x, order.scope);
  const bool stops = gw.options.is_stop_word && gw.options.is_stop_word(order.scope, order.text, order.bot_names);
  if (x.too_often && !stops) throw *x.too_often;
  need_unreserved(order.scope);
  if (!stops) x.bring(order.scope, order.author.id);
  use_blobs(x, order);
  order.by = x.who;
  const bool streams = x.req.wants_event_stream();
  std::uint64_t after = 0;
  const auto newest = [](store_reader& q) { return q.newest_event(); };
  if (streams) after = co_await gw.read<std::uint64_t>(newest, lane::urgent);
  const bool owns = streams && request.cancel_on_disconnect;
  if (owns) order.client.emplace();
  order.claim = std::make_shared<order_claim>();
  using decision = outcome<turns::message_answer>;
  std::function<void(std::function<void(decision)>)> call = [&gw, &order](auto reply) {
    gw.options.turns->take(order, std::move(reply));
  };
  const auto decided = co_await ask_for_sure<decision>(gw.io, order.claim, call);
  if (!decided) {
    auto why = co_await explain_refusal(x, decided.error(), order.parent);
    throw why;
  }
  auto body = turns::decision_json(order, *decided);
  using what = turns::message_answer::decided;
  const bool is_new_turn = decided->decision == what::turn && !decided->is_duplicate;
  if (!streams) co_return json_answer(std::move(body), is_new_turn ? 202 : 200);
  response answer;
  answer.content_type = "text/event-stream";
  answer.body = "event: message_decided\ndata: " + body + "\n\n"; // waits for no other stream
  stream_manner manner;
  manner.merge_text = request.merge_text;
  if (decided->decision == what::ignored) {
    answer.stream = [](thread_context&, stream_writer&) -> awaitable<> { co_return; };
    co_return answer;
  }
  events_request requested;
  requested.who = x.share_key();
  if (decided->is_duplicate) after = 0;
  if (decided->decision == what::cancel) {
    requested.filter.scopes = {order.scope};
    requested.filter.types = {event_type::acknowledgement, event_type::cancel_settled};
    manner.until_stopped = stopped_story{*decided->message, *decided->cancel};
    answer.stream = [requested, after, manner = std::move(manner)](thread_context& here, stream_writer& to) {
      return stream_events(here, requested, after, manner, {}, to);
    };
    co_return answer;
  }
  requested.filter.below = decided->turn;
  manner.until_end = decided->turn;
  // A client whose stream quelld broke returns with the same message.
  bool is_owner = owns && !decided->is_duplicate;
  if (owns && decided->is_duplicate) {
    co_await know_lost_clients(gw);
    is_owner = gw.options.turns->clients()->returns(*decided->turn);
  }
  if (is_owner)
    answer.owned = std::make_shared<owned_turn>(
        gw.shared, *decided->turn, [turns = gw.options.turns, turn = *decided->turn] { turns->disconnected(turn); });
  answer.stream = [requested, after, manner = std::move(manner), owned = answer.owned](thread_context& here,
                                                                                       stream_writer& to) {
    return stream_events(here, requested, after, manner, owned, to);
  };
  co_return answer;
}

} // namespace quell::controller::http
