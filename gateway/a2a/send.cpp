// From a message to the task that answers it.
#include "gateway/a2a/calls.hpp"
#include "gateway/a2a/context_id.hpp"
#include "gateway/a2a/send_body.hpp"
#include "gateway/compat/client_turn.hpp"
#include "gateway/compat_handlers.hpp"

namespace quell::controller::http::a2a {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// A message to an existing task is not taken: a turn answers one message. A conversation goes on by its contextId.
awaitable<> refuse_task(exchange& x, const served_agent& agent, std::string task) {
  co_await visible_task(x, agent, task);
  throw a2a_error{unsupported_operation,
                  "a task takes no further messages; send the message with the task's contextId and without taskId"};
}

struct sent_message {
  served_agent agent;
  std::string context;
  client_turn begun;
};

awaitable<sent_message> begin(exchange& x, const send_request& request) {
  need_turns(x);
  sent_message sent;
  sent.agent = agent_of_path(x);
  if (request.task) co_await refuse_task(x, sent.agent, *request.task);
  sent.context = request.context.value_or(fresh_context(x.who.token_id, sent.agent.name, request.message_id));
  client_request wanted;
  wanted.agent = sent.agent.name;
  wanted.scope = scope_of_context(sent.context, sent.agent.base);
  if (!wanted.scope)
    throw a2a_error{invalid_params,
                    "the contextId is not one of this agent's",
                    {{error_code::bad_scope, "message.contextId",
                      "must be one that the agent gave, the name of a conversation (letters, digits and . _ - : @ + = "
                      "~), or a scope"}}};
  wanted.conversation.text = request.text;
  wanted.channel = a2a_channel;
  wanted.client_id = "a2a:" + request.message_id;
  wanted.outlives_client = true;
  if (request.push) need_push_room(x); // before the turn begins: its task would be unknown to the caller
  sent.begun = co_await begin_client_turn(x, std::move(wanted));
  if (!request.push || !sent.begun.decided.turn) co_return sent;
  auto config = *request.push;
  config.task = *sent.begun.decided.turn;
  if (config.id.empty()) config.id = config.task.text();
  config.by = x.who.token_id;
  config.agent = sent.agent.name;
  config.base = sent.agent.base;
  co_await store_push_config(x, std::move(config));
  co_return sent;
}

/// The answer to a message that was no turn: a stop, or a text that is not meant for the agent.
ordered_json message_of(const sent_message& sent) {
  const auto& decided = sent.begun.decided;
  const auto text = decided.cancel ? "Stopping " + std::to_string(decided.operations) +
                                         (decided.operations == 1 ? " operation." : " operations.")
                                   : "This message was not answered: " + decided.why;
  const auto id = decided.message ? decided.message->text() : sent.begun.order.client_id;
  auto message = agent_message(id, sent.context, text);
  if (decided.cancel) message["metadata"] = {{"quell", {{"cancel", decided.cancel->text()}}}};
  return {{"message", std::move(message)}};
}

bool is_task(const sent_message& sent) {
  return sent.begun.decided.decision == turns::message_answer::decided::turn && sent.begun.decided.turn;
}

awaitable<task_facts> facts_now(exchange& x, const sent_message& sent) {
  auto facts = co_await find_task(x.gw, *sent.begun.decided.turn, sent.agent);
  if (!facts) throw a2a_error{task_not_found, "the task of this message is no longer kept"};
  co_return std::move(*facts);
}

} // namespace

awaitable<ordered_json> send_message(exchange& x, const json& params) {
  const auto request = read_send(params);
  auto held = x.hold();
  const auto sent = co_await begin(x, request);
  if (!is_task(sent)) co_return message_of(sent);
  task_facts facts;
  if (request.returns_at_once)
    facts = co_await facts_now(x, sent);
  else
    facts = co_await wait_until_over(x, *sent.begun.decided.turn, sent.agent);
  co_return ordered_json{{"task", task_json(facts)}};
}

awaitable<response> send_streaming(exchange& x, const json& params, as_frame wrap) {
  const auto request = read_send(params);
  auto held = x.hold();
  const auto sent = co_await begin(x, request);
  if (!is_task(sent)) {
    response answer;
    answer.content_type = "text/event-stream";
    answer.body = wrap(message_of(sent));
    answer.stream = [](thread_context&, stream_writer&) -> awaitable<> { co_return; };
    co_return answer;
  }
  const auto newest = [](store_reader& q) { return q.newest_event(); };
  const auto after = co_await x.gw.read<std::uint64_t>(newest, lane::urgent);
  auto facts = co_await facts_now(x, sent);
  co_return streamed_task(x, sent.agent, std::move(facts), after, std::move(wrap), std::move(held));
}

} // namespace quell::controller::http::a2a
