// The conversation with one MCP server over HTTP: the server's questions during a call.
//
// A question comes on the stream of its call, or on one that all calls share; its answer is posted. In the newest
// version the call's answer is the question, and the call is sent again with the human's answer.
#include <algorithm>

#include "integrations/mcp/http_conversation.hpp"
#include "integrations/mcp/http_faults.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations {
namespace {

constexpr std::chrono::milliseconds next_listening{1'000}, latest_listening{600'000};

} // namespace

/// Opens the shared stream: some servers ask on a stream that belongs to no call.
void http_conversation::listen(time_point now) {
  if (!may_listen_ || listening_ != 0 || phase_ != phase::ready ||
      (listen_at_ != time_point::max() && listen_at_ > now))
    return;
  listen_at_ = time_point::max();
  listening_ = open(purpose::listening, {}, {}, {}, time_point::max());
}

/// Opens it again at once while a call can need it, otherwise with the next call.
void http_conversation::listening_ended(const exchange& ended, const http_ending& end, time_point now) {
  const bool is_offered = end.status == 0 || (end.status >= 200 && end.status <= 299) || may_pass(end);
  may_listen_ = may_listen_ && is_offered;
  if (!may_listen_ || calls_.empty()) return;
  listen_at_ = now + std::clamp(ended.http->retry().value_or(next_listening), next_listening, latest_listening);
}

/// The call that a question belongs to. On a call's own stream it is that call; otherwise there must be only one call,
/// or the question must carry the call's progress token or operation id: it goes only to the people of its call.
std::optional<http_conversation::call_number>
http_conversation::asker(const exchange& take_question, const rpc::message& message, time_point now) const {
  if (is_call(take_question.why))
    return calls_.contains(take_question.call) ? std::optional(take_question.call) : std::nullopt;
  if (take_question.why != purpose::listening || take_question.session != session_) return std::nullopt;
  const json& meta = member(message.body, "_meta");
  const auto token = rpc::own_id(member(meta, "progressToken"));
  const std::string operation = text_member(meta, "quell/operation");
  const bool is_named = token.has_value() || !operation.empty();
  std::optional<call_number> found;
  std::size_t count = 0;
  for (const auto& [number, one] : calls_) {
    if (one.request == 0 || one.session != session_) continue;
    if (token ? one.request != *token : !operation.empty() && one.operation != operation) continue;
    ++count;
    found = number;
  }
  return count == 1 && (is_named || now >= unclear_until_) ? found : std::nullopt;
}

void http_conversation::take_request(exchange_id id, rpc::message& message, time_point now) {
  std::string answer_text;
  if (message.method != "elicitation/create" || stateless_) {
    answer_text = mcp::answer_to_server(message.id, message.method);
  } else if (const auto number = asker(exchanges_.at(id), message, now)) {
    return take_step(*number, calls_.at(*number).questions.on_request(message.id, message.body), now);
  } else {
    answer_text = rpc::refusal(message.id, mcp::no_call_asks, std::string(mcp::which_call));
  }
  open(purpose::notice, std::move(answer_text), {}, {}, after(settings_.options.cancel_timeout, now));
}

void http_conversation::take_back(exchange_id id, const rpc::message& message, time_point now) {
  const json& request = member(message.body, "requestId");
  const purpose why = exchanges_.at(id).why;
  if (!is_call(why) && why != purpose::listening) return;
  for (auto& [number, one] : calls_) {
    auto step = one.questions.took_back(request);
    if (!step.tell.empty()) return take_step(number, std::move(step), now);
  }
}

void http_conversation::take_call_answer(exchange_id id, rpc::message& message, time_point now) {
  const call_number number = exchanges_.at(id).call;
  linger(id, now);
  const auto found = calls_.find(number);
  if (found == calls_.end()) return;
  call& one = found->second;
  const bool is_answer = message.what == rpc::message::kind::answer;
  if (is_answer && stateless_ && mcp::wants_input(message.body)) {
    one.at = 0;
    one.waits_for_human = true;
    return take_step(number, one.questions.required(who_, message.body), now);
  }
  const std::string tool = "tool \"" + excerpt(one.tool, 80) + "\"";
  tell_end(number, is_answer ? mcp::ended_with(who_, message.body)
                             : mcp_call_event(mcp_call_events::failed{mcp::of_error(who_, tool, message.body), true}));
}

void http_conversation::answer(call_number number, std::uint64_t question, const mcp_answer& what, time_point now) {
  const auto found = calls_.find(number);
  if (found != calls_.end()) take_step(number, found->second.questions.answered(question, what), now);
}

void http_conversation::take_step(call_number number, mcp_questions::step what, time_point now) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return;
  if (!what.send.empty() && !ended_)
    open(purpose::notice, std::move(what.send), {}, {}, after(settings_.options.cancel_timeout, now));
  for (mcp_call_event& event : what.tell) {
    if (is_end(event)) return tell_end(number, std::move(event));
    found->second.channel->tell(std::move(event));
  }
  if (!what.repeat) return;
  if (phase_ == phase::ready && stateless_) return send_call(number, found->second, now);
  tell_end(number,
           mcp_call_events::failed{failure_of(server_code::mcp_unreachable,
                                              who_ + ", tool \"" + excerpt(found->second.tool, 80) +
                                                  "\": the server does not speak any more as it did when it asked"),
                                   true});
}

} // namespace quell::integrations
