// Requests that chat services make: handed to their connector as they are. The service's signature, which the connector
// checks, is what lets them in; a task's relay is no way to here.
#include "controller/gateway/exchange.hpp"

namespace quell::controller::http {

namespace {

problem nothing_here(const exchange& x) {
  return {.code = "not_found",
          .detail = "no chat service answers at " + x.req.path.substr(0, 200) +
                    "; the sections of the configuration say which are connected"};
}

/// What a connector may answer that the front itself has no word for is not passed on.
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
  // The name and the path are compared as they were sent: an escape is never another way to write one.
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
