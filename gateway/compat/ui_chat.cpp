// POST /v1/ui/chat: the AI SDK's UI message stream, for `useChat`.
#include "gateway/compat/turn_streaming.hpp"
#include "gateway/compat/ui_body.hpp"
#include "gateway/compat/ui_parts.hpp"
#include "gateway/compat_handlers.hpp"

namespace quell::controller::http {

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
  wanted.regenerates = request.regenerates;
  auto begun = co_await begin_client_turn(x, std::move(wanted));
  response answer;
  if (begun.owned) {
    auto first = ui_parts::first(begun.decided.turn->text());
    auto parts = std::make_shared<ui_parts>(*begun.decided.turn);
    answer = streamed_turn(x, begun, std::move(parts), std::move(first), std::move(held));
    answer.headers.emplace_back("X-Quell-Turn", begun.decided.turn->text());
  } else {
    const auto& a = begun.decided;
    const auto text = a.cancel ? "Stopping " + std::to_string(a.operations) + " operations." : std::string();
    answer.content_type = "text/event-stream";
    answer.body = ui_parts::first(x.req.id.text()) + ui_parts::only(text);
  }
  answer.headers.emplace_back("x-vercel-ai-ui-message-stream", "v1");
  answer.headers.emplace_back("X-Quell-Scope", begun.order.scope.text());
  co_return answer;
}

} // namespace quell::controller::http
