// POST /v1/ui/chat: the AI SDK's UI message stream, for `useChat`. GET /v1/ui/chat/{chat}/stream: the same of the turn
// that runs, for a page that was loaded again.
#include "gateway/compat/asked_again.hpp"
#include "gateway/compat/turn_streaming.hpp"
#include "gateway/compat/ui_body.hpp"
#include "gateway/compat/ui_parts.hpp"
#include "gateway/compat_handlers.hpp"
#include "gateway/query_reader.hpp"

namespace quell::controller::http {

namespace {

/// The stream's parts from the beginning of the message, whose id is the turn's.
response stream_of(exchange& x, const client_turn& begun, std::shared_ptr<void> held) {
  const auto turn = *begun.decided.turn;
  auto answer =
      streamed_turn(x, begun, std::make_shared<ui_parts>(turn), ui_parts::first(turn.text()), std::move(held));
  answer.headers.emplace_back("X-Quell-Turn", turn.text());
  return answer;
}

void name_stream(response& answer, const scope_path& scope) {
  answer.headers.emplace_back("x-vercel-ai-ui-message-stream", "v1");
  answer.headers.emplace_back("X-Quell-Scope", scope.text());
}

/// The newest live turn of this chat that the caller sees.
awaitable<std::optional<records::operation_record>> live_turn_of(exchange& x, std::string chat) {
  records::operation_filter filter;
  filter.kinds = {kind::turn};
  filter.labels.emplace_back(chat_label, std::move(chat));
  filter.want_ended = false;
  filter.within = x.who.prefix;
  filter.limit = 1;
  auto job = [filter](store_reader& q) { return q.operations(filter); };
  auto part = co_await x.list<records::operation_record>(job);
  if (part.rows.empty()) co_return std::nullopt;
  co_return std::move(part.rows.front());
}

} // namespace

awaitable<response> post_ui_chat(exchange& x) {
  need_turns(x);
  auto request = co_await checked_body(x, read_ui_chat);
  auto held = x.hold();
  client_request wanted;
  wanted.agent = std::move(request.agent);
  wanted.scope = std::move(request.scope);
  wanted.author = std::move(request.author);
  wanted.conversation = std::move(request.conversation);
  wanted.channel = ui_channel;
  wanted.outlives_client = request.outlives_client;
  using again = client_request::again_as;
  wanted.again = request.regenerates ? again::as_it_was : request.edits ? again::edited : again::nothing;
  if (!request.chat.empty()) wanted.labels.emplace(chat_label, std::move(request.chat));
  if (!request.message.empty()) wanted.labels.emplace(page_message_label, request.message);
  wanted.page_message = std::move(request.message);
  wanted.page_request = std::move(request.request);
  auto begun = co_await begin_client_turn(x, std::move(wanted));
  const auto& a = begun.decided;
  response answer;
  if (a.decision == turns::message_answer::decided::turn && a.turn) {
    answer = stream_of(x, begun, std::move(held));
  } else {
    answer.content_type = "text/event-stream";
    answer.body = ui_parts::first(x.req.id.text()) + ui_parts::only(words_without_turn(a));
  }
  name_stream(answer, begun.order.scope);
  co_return answer;
}

awaitable<response> get_ui_stream(exchange& x) {
  need_turns(x);
  query_reader(x.req).finish();
  auto held = x.hold();
  auto search = live_turn_of(x, x.arguments.at(0));
  auto row = co_await std::move(search);
  if (!row) co_return empty_answer();
  client_turn begun;
  begun.order.scope = row->scope;
  begun.decided.decision = turns::message_answer::decided::turn;
  begun.decided.turn = row->id;
  begun.decided.is_duplicate = true; // the page gets the whole of it
  const auto newest = [](store_reader& q) { return q.newest_event(); };
  begun.after = co_await x.gw.read<std::uint64_t>(newest, lane::urgent);
  // A page whose stream a restart of quelld broke owns its turn again.
  co_await know_lost_clients(x.gw);
  if (x.gw.options.turns->clients()->returns(row->id)) {
    begun.order.by = x.who;
    begun.order.author = row->owner;
    begun.order.via_channel = ui_channel;
    begun.owned = owned_by_client(x, begun);
  }
  auto answer = stream_of(x, begun, std::move(held));
  name_stream(answer, row->scope);
  co_return answer;
}

} // namespace quell::controller::http
