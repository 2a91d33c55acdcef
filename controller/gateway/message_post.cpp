// POST /v1/messages: a message becomes a turn, which is answered as JSON or streamed as SSE.
#include "controller/gateway/event_stream.hpp"
#include "controller/gateway/message_body.hpp"
#include "controller/gateway/presenter.hpp"
#include "controller/gateway/rights.hpp"

namespace quell::controller::http {

namespace {

constexpr std::chrono::hours repeat_window{24};

/// What was decided about a message.
struct decided {
  std::optional<turns::message_accepted> turn;
  std::string why;
  std::string turn_status = "pending";
};

std::string decision_text(const turns::message_order& order, const decided& d, std::uint64_t seq) {
  json_writer to;
  to.open_object();
  to.field("message", d.turn ? std::optional(d.turn->message) : std::nullopt);
  to.field("id", order.client_id.empty() ? std::nullopt : std::optional(order.client_id)).field("scope", order.scope);
  to.field("seq", d.turn ? d.turn->seq : seq).field("duplicate", d.turn && d.turn->is_duplicate);
  to.field("decision", d.turn ? "turn" : "ignored").field("why", d.why);
  to.key("detected").open_object();
  to.field("cancel_word", nullptr).field("standing", nullptr);
  to.close_object();
  to.key("turn");
  if (d.turn) {
    to.open_object();
    to.field("id", d.turn->turn).field("status", d.turn_status).field("position", d.turn->position);
    to.close_object();
  } else {
    to.put(nullptr);
  }
  to.field("cancel", nullptr).field("acknowledgement", "none");
  to.close_object();
  return to.take();
}

/// The decision of a repeat, if this is one.
awaitable<std::optional<decided>> repeated(exchange& x, const turns::message_order& order) {
  if (order.client_id.empty()) co_return std::nullopt;
  const auto scope = order.scope;
  const auto id = order.client_id;
  auto job = [scope, id](storage::queries& q) { return q.message_of_client(scope, id); };
  const auto known = co_await x.gw.read<std::optional<storage::message_record>>(job);
  const auto now = std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
  if (!known || !known->turn || now - known->at > repeat_window) co_return std::nullopt;
  decided d;
  d.turn = turns::message_accepted{known->id, known->seq, *known->turn, false, 0, true};
  d.why = "no_cancel_word";
  auto row = co_await find_row(x.gw, *known->turn);
  if (row) {
    const auto shown = co_await present_one(x.gw, std::move(*row));
    d.turn_status = std::string(name_of(shown.row.hot.now));
  }
  co_return d;
}

awaitable<decided> decide(exchange& x, message_request& request) {
  decided d;
  if (!request.is_final) {
    d.why = "not_final";
    co_return d;
  }
  if (request.order.text.find_first_not_of(" \t\r\n") == std::string::npos) {
    d.why = "empty";
    co_return d;
  }
  auto before = co_await repeated(x, request.order);
  if (before) co_return *before;
  auto& gw = x.gw;
  auto call = [&gw, order = request.order](auto reply) { gw.options.turns->take(order, std::move(reply)); };
  const auto accepted = co_await gw.answer<outcome<turns::message_accepted>>(call);
  if (!accepted) throw from_refusal(accepted.error());
  d.turn = *accepted;
  d.why = "no_cancel_word";
  d.turn_status = accepted->is_running ? "running" : "pending";
  co_return d;
}

/// Streams the turn; whoever streams it owns it.
awaitable<> stream_turn(core& gw, operation_id turn, std::uint64_t after, stream_manner manner,
                        bool cancel_on_disconnect, stream_writer& to) {
  ++gw.event_streams;
  const std::shared_ptr<void> counted(nullptr, [&gw](void*) { --gw.event_streams; });
  events_request asked;
  asked.filter.below = turn;
  auto watcher = gw.hub.watch(asked.filter, false);
  event_stream events(gw, asked, after, std::move(watcher), to, std::move(manner));
  co_await events.run();
  // A stream that ends because we end is no hang-up.
  if (cancel_on_disconnect && !events.has_ended() && !gw.stopping) gw.options.turns->disconnected(turn);
}

} // namespace

awaitable<response> post_message(exchange& x) {
  auto& gw = x.gw;
  if (!gw.options.turns) throw problem{.code = "not_found", .detail = "this quelld answers no messages"};
  need(x, right::converse);
  auto request = value_or_throw(read_message(x.req.body));
  auto& order = request.order;
  need_scope(x, order.scope);
  const auto& text = order.scope.text();
  if (text == "quell" || text.starts_with("quell/"))
    throw from_errors({{"bad_scope", "/scope", "is reserved for quell's own work; choose one outside of quell/"}});
  order.by = x.who;
  const auto after = co_await gw.read<std::uint64_t>([](storage::queries& q) { return q.newest_event(); });
  const auto d = co_await decide(x, request);
  std::uint64_t seq = 0;
  if (!d.turn) {
    auto call = [&gw](auto reply) { gw.controller.cluster(std::move(reply)); };
    const auto view = co_await gw.answer<cluster_view>(call);
    seq = view.seq;
  }
  auto body = decision_text(order, d, seq);
  if (!x.req.wants_event_stream()) co_return json_answer(std::move(body), d.turn && !d.turn->is_duplicate ? 202 : 200);
  response answer;
  answer.content_type = "text/event-stream";
  stream_manner manner;
  manner.first = "event: message_decided\ndata: " + body + "\n\n";
  manner.merge_text = request.merge_text;
  if (!d.turn) {
    answer.stream = [first = manner.first](stream_writer& to) -> awaitable<> { co_await to.write(first); };
    co_return answer;
  }
  manner.until_end = d.turn->turn;
  const bool owns = request.cancel_on_disconnect && !d.turn->is_duplicate;
  answer.stream = [&gw, turn = d.turn->turn, after = d.turn->is_duplicate ? 0 : after, manner = std::move(manner),
                   owns](stream_writer& to) { return stream_turn(gw, turn, after, manner, owns, to); };
  co_return answer;
}

} // namespace quell::controller::http
