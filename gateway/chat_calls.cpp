// Requests from chat services, passed to their connector unchanged. The service's signature, which the connector
// checks, authorises them; they cannot come through a task's relay.
#include "gateway/exchange.hpp"

namespace quell::controller::http {

namespace {

problem nothing_here(const exchange& x) {
  return {.code = error_code::not_found,
          .detail = "no chat service answers at " + x.req.path.substr(0, 200) +
                    "; the sections of the configuration say which are connected"};
}

/// Copies the parts of a connector's answer that the gateway itself can send, and drops any other.
response as_response(integrations::chat::web_answer answer) {
  response made;
  made.status = answer.status;
  made.content_type = std::move(answer.content_type);
  made.headers = std::move(answer.headers);
  made.body = std::move(answer.body);
  return made;
}

} // namespace

awaitable<response> chat_call(exchange& x) {
  const auto& chat = x.gw.options.chat;
  if (!chat || x.req.is_relayed || x.gw.stopping) throw nothing_here(x);
  // Compares name and path exactly as they were sent: an escaped form is never equivalent.
  const std::string_view rest = std::string_view(x.req.path).substr(std::string_view("/v1/chat/").size());
  const auto slash = rest.find('/');
  const std::string name(rest.substr(0, slash));
  integrations::chat::web_call call;
  call.method = x.req.method;
  call.path = std::string(rest.substr(slash + 1));
  call.query = x.req.raw_query;
  call.headers = std::move(x.req.headers);
  call.body = std::move(x.req.body);
  using answer = std::optional<integrations::chat::web_answer>;
  auto answered = co_await x.gw.answer<answer>([&](std::function<void(answer)> done) {
    const bool known =
        chat(name, std::move(call), [done](integrations::chat::web_answer a) { done(answer(std::move(a))); });
    if (!known) done(answer());
  });
  if (!answered) throw nothing_here(x);
  if (answered->refused) {
    auto refusal = from_fault(*answered->refused);
    for (auto& header : answered->headers) refusal.headers.push_back(std::move(header));
    throw refusal;
  }
  co_return as_response(std::move(*answered));
}

} // namespace quell::controller::http
