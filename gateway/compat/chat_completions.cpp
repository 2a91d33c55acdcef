// POST /openai/v1/chat/completions and GET /openai/v1/models: agents of quell as models, for OpenAI's clients.
#include <chrono>

#include <nlohmann/json.hpp>

#include "gateway/compat/completion_body.hpp"
#include "gateway/compat/completion_chunks.hpp"
#include "gateway/compat/turn_streaming.hpp"
#include "gateway/compat_handlers.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::optional<scope_path> scope_named(const exchange& x) {
  if (x.req.quell_scope.empty()) return std::nullopt;
  auto scope = scope_path::parse(x.req.quell_scope);
  if (!scope)
    throw problem{.code = error_code::bad_scope, .detail = "the header X-Quell-Scope: " + scope.error().detail};
  return *scope;
}

client_request request_of(const exchange& x, completion_request& request) {
  client_request wanted;
  wanted.agent = request.agent;
  wanted.scope = scope_named(x);
  wanted.conversation = std::move(request.conversation);
  if (request.user) wanted.author = records::person{*request.user, *request.user};
  wanted.channel = openai_channel;
  return wanted;
}

void add_names(response& answer, const client_turn& begun) {
  answer.headers.emplace_back("X-Quell-Scope", begun.order.scope.text());
  if (begun.decided.turn) answer.headers.emplace_back("X-Quell-Turn", begun.decided.turn->text());
}

response failed_turn(const turn_end& end) {
  response answer;
  // None of these statuses is one that clients repeat a request for: its tools may have had their effect.
  answer.status = end.as == turn_end::how::cancelled ? 410 : 424;
  answer.headers = {{"x-should-retry", "false"}};
  answer.body = nlohmann::ordered_json{{"error", error_of_turn(end)}}.dump(-1, ' ', false,
                                                                           nlohmann::json::error_handler_t::replace);
  return answer;
}

} // namespace

awaitable<response> post_completion(exchange& x) {
  need_turns(x);
  auto request = co_await checked_body(x, read_completion);
  auto held = x.hold();
  auto wanted = request_of(x, request);
  auto begun = co_await begin_client_turn(x, std::move(wanted));
  completion_head head{"chatcmpl-" + (begun.decided.turn ? *begun.decided.turn : operation_id::fresh()).text(),
                       seconds_now(), request.agent};
  response answer;
  if (!begun.owned) {
    turn_end words;
    words.text = words_without_turn(begun.decided);
    const completion_chunks chunks(operation_id{}, head, false);
    answer = json_answer(request.streams ? chunks.only(words.text) : whole_completion(head, words));
    if (request.streams) answer.content_type = "text/event-stream";
  } else if (request.streams) {
    auto chunks = std::make_shared<completion_chunks>(*begun.decided.turn, std::move(head), request.wants_usage);
    auto first = chunks->first();
    answer = streamed_turn(x, begun, std::move(chunks), std::move(first), std::move(held));
  } else {
    auto end = co_await whole_turn(x, begun);
    // A client that has answered what the turn asks knows what it said before.
    if (begun.decided.during == turns::during_turn::answer) end.text = std::move(end.rest);
    answer = end.as == turn_end::how::completed ? json_answer(whole_completion(head, end)) : failed_turn(end);
  }
  add_names(answer, begun);
  co_return answer;
}

awaitable<response> list_models(exchange& x) {
  need_turns(x);
  using nlohmann::ordered_json;
  auto models = ordered_json::array();
  const auto created =
      std::chrono::duration_cast<std::chrono::seconds>(x.gw.options.started_at.time_since_epoch()).count();
  const auto settings = x.gw.options.turns->runtime()->settings.get();
  for (const auto& agent : settings->agents)
    if (!agent.is_command() && base_for(agent, x.who))
      models.push_back({{"id", agent.name}, {"object", "model"}, {"created", created}, {"owned_by", "quell"}});
  co_return json_answer(ordered_json{{"object", "list"}, {"data", std::move(models)}}.dump());
}

void need_turns(exchange& x) {
  if (!x.gw.options.turns) throw problem{.code = error_code::not_found, .detail = "this quelld answers no messages"};
  need(x, right::converse);
}

} // namespace quell::controller::http
