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

a2a_error takes_no_message() {
  return a2a_error{unsupported_operation,
                   "a task takes no further messages unless it is in TASK_STATE_INPUT_REQUIRED; send "
                   "the message with the task's contextId and without taskId"};
}

std::string client_id_of(const send_request& request) { return "a2a:" + request.message_id; }

/// True for a message that was sent before.
awaitable<bool> is_repeat(exchange& x, scope_path scope, std::string client_id) {
  using found = std::optional<records::message_record>;
  auto job = [scope = std::move(scope), id = std::move(client_id)](store_reader& q) {
    return q.message_of_client(scope, id);
  };
  co_return (co_await x.gw.read<found>(std::move(job), lane::urgent)).has_value();
}

/// A turn answers one message. Another one to its task can only be the answer to what it asks; a conversation goes on
/// by its contextId.
awaitable<task_facts> asking_task(exchange& x, const served_agent& agent, const send_request& request) {
  const auto id = co_await visible_task(x, agent, *request.task);
  auto facts = co_await find_task(x.gw, id, agent);
  if (!facts) throw takes_no_message();
  if (status_of(*facts).state == task_state::input_required) co_return std::move(*facts);
  const auto scope = scope_path::parse(facts->scope);
  if (!scope) throw takes_no_message();
  const auto& is_stop = x.gw.options.is_stop_word; // a stop is never refused because its task works
  if (is_stop && is_stop(*scope, request.text, {})) co_return std::move(*facts);
  if (!co_await is_repeat(x, *scope, client_id_of(request))) throw takes_no_message();
  co_return std::move(*facts);
}

struct sent_message {
  served_agent agent;
  std::string context;
  client_turn begun;
  std::optional<operation_id> task; ///< that the message is about; none: it was not a turn, for example a stop
};

awaitable<sent_message> begin(exchange& x, const send_request& request) {
  need_turns(x);
  sent_message sent;
  sent.agent = agent_of_path(x);
  std::optional<task_facts> asking;
  if (request.task) asking = co_await asking_task(x, sent.agent, request);
  if (asking && request.context && *request.context != asking->context)
    throw a2a_error{invalid_params,
                    "the task is not of this conversation",
                    {{error_code::invalid_field, "message.contextId", "must be that of the task, or left out"}}};
  sent.context = asking ? asking->context
                        : request.context.value_or(fresh_context(x.who.token_id, sent.agent.name, request.message_id));
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
  wanted.client_id = client_id_of(request);
  wanted.outlives_client = true;
  if (asking) {
    wanted.during = turns::during_turn::answer;
    wanted.answers = asking->id;
  }
  if (request.push) need_push_room(x); // before the turn begins: its task would be unknown to the caller
  try {
    sent.begun = co_await begin_client_turn(x, std::move(wanted));
  } catch (const problem& refused) {
    if (asking && refused.code == error_code::not_paused) throw takes_no_message(); // another answer came first
    throw;
  }
  const auto& decided = sent.begun.decided;
  if (decided.decision == turns::message_answer::decided::turn)
    sent.task = decided.during == turns::during_turn::answer ? decided.met : decided.turn;
  if (!request.push || !sent.task) co_return sent;
  auto config = *request.push;
  config.task = *sent.task;
  if (config.id.empty()) config.id = config.task.text();
  config.by = x.who.token_id;
  config.agent = sent.agent.name;
  config.base = sent.agent.base;
  co_await store_push_config(x, std::move(config));
  co_return sent;
}

/// The answer to a message that was not a turn: a stop, or a text that is not meant for the agent.
ordered_json message_of(const sent_message& sent) {
  const auto& decided = sent.begun.decided;
  const auto text = decided.cancel ? words_without_turn(decided) : "This message was not answered: " + decided.why;
  const auto id = decided.message ? decided.message->text() : sent.begun.order.client_id;
  auto message = agent_message(id, sent.context, text);
  if (decided.cancel) message["metadata"] = {{"quell", {{"cancel", decided.cancel->text()}}}};
  return {{"message", std::move(message)}};
}

awaitable<task_facts> facts_now(exchange& x, const sent_message& sent) {
  auto facts = co_await find_task(x.gw, *sent.task, sent.agent);
  if (!facts) throw a2a_error{task_not_found, "the task of this message is no longer kept"};
  co_return std::move(*facts);
}

} // namespace

awaitable<ordered_json> send_message(exchange& x, const json& params) {
  const auto request = read_send(params);
  auto held = x.hold();
  const auto sent = co_await begin(x, request);
  if (!sent.task) co_return message_of(sent);
  task_facts facts;
  if (request.returns_at_once)
    facts = co_await facts_now(x, sent);
  else
    facts = co_await wait_until_over(x, *sent.task, sent.agent);
  co_return ordered_json{{"task", task_json(facts)}};
}

awaitable<response> send_streaming(exchange& x, const json& params, as_frame wrap) {
  const auto request = read_send(params);
  auto held = x.hold();
  const auto sent = co_await begin(x, request);
  if (!sent.task) {
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
