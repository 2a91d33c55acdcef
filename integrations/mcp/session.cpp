// The client's side of MCP over a pair of byte streams: calls, and the end of the session.
#include "integrations/mcp/session.hpp"

#include "integrations/mcp/limits.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/mcp/session_parts.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations {

using namespace mcp_effects;

mcp_session::mcp_session(const std::string& name) : who_(mcp::who_is(name)), lines_(mcp_limits::line_bytes) {}
mcp_session::~mcp_session() = default;

std::vector<mcp_effect> mcp_session::effects() { return std::exchange(effects_, {}); }

void mcp_session::send_line(std::string line) {
  line += '\n';
  effects_.emplace_back(send{std::move(line)});
}

void mcp_session::complain(std::string what) { effects_.emplace_back(bad_message{std::move(what)}); }

mcp_call_number mcp_session::begin_call(const std::string& tool, const std::string& input_json,
                                        const std::string& operation) {
  const mcp_call_number number = ++next_id_;
  const auto refuse = [&](fault why) {
    effects_.emplace_back(tell{number, mcp_call_events::failed{std::move(why), false}});
    return number;
  };
  if (phase_ == phase::over) return refuse(over_);
  if (!mcp::input_object(input_json))
    return refuse(
        failure_of(server_code::mcp_refused, "the input of tool \"" + excerpt(tool, 80) + "\" is not a JSON object"));
  if (calls_.size() - cancelled_.size() >= mcp_limits::open_calls)
    return refuse(failure_of(server_code::mcp_refused,
                             who_ + " has " + std::to_string(mcp_limits::open_calls) + " calls open already"));
  call& one = calls_[number];
  one.tool = tool;
  one.input = input_json;
  one.operation = operation;
  if (phase_ == phase::ready) send_call(number, one); // otherwise it is sent once the session is ready
  return number;
}

void mcp_session::send_call(mcp_call_number number, call& one) {
  one.request = one.sent ? ++next_id_ : number;
  if (one.sent) repeated_.emplace(one.request, number);
  json params =
      mcp::call_params(one.tool, mcp::input_object(one.input).value_or(json::object()), one.request, one.operation);
  one.questions.add_to(params);
  if (stateless_) params = mcp::with_stateless_meta(std::move(params));
  one.sent = true;
  if (!stateless_) one.input = {}; // kept in the stateless version: the call may be repeated
  send_line(rpc::request(one.request, "tools/call", std::move(params)));
}

bool mcp_session::cancel(mcp_call_number number, std::string_view reason) {
  const auto found = calls_.find(number);
  if (found == calls_.end() || found->second.cancelled) return false;
  if (!found->second.sent) {
    calls_.erase(found);
    effects_.emplace_back(late{number, "not_sent"});
    return true;
  }
  found->second.questions.close();
  if (found->second.request == 0) { // the call has already ended there by asking its question
    forget(found);
    effects_.emplace_back(late{number, "done"});
    return true;
  }
  found->second.cancelled = true;
  cancelled_.insert(number);
  send_line(rpc::notification("notifications/cancelled", mcp::cancel_params(found->second.request, reason)));
  // Most of these are never answered: the record of them must not grow for ever.
  if (cancelled_.size() > mcp_limits::remembered_cancels) stop_waiting(*cancelled_.begin());
  return true;
}

void mcp_session::stop_waiting(mcp_call_number number) {
  const auto found = calls_.find(number);
  if (found == calls_.end() || !found->second.cancelled) return;
  forget(found);
  cancelled_.erase(number);
  effects_.emplace_back(late{number, "ignored"});
}

void mcp_session::answer(mcp_call_number number, std::uint64_t question, const mcp_answer& what) {
  const auto found = calls_.find(number);
  if (found != calls_.end() && !found->second.cancelled)
    take_step(found, found->second.questions.answered(question, what));
}

void mcp_session::take_step(open_call found, mcp_questions::step what) {
  const mcp_call_number number = found->first;
  if (!what.send.empty()) send_line(std::move(what.send));
  bool is_over = false;
  for (mcp_call_event& event : what.tell) {
    is_over = is_over || is_end(event);
    effects_.emplace_back(tell{number, std::move(event)});
  }
  if (is_over) return forget(found);
  if (what.repeat) send_call(number, found->second);
}

mcp_session::open_call mcp_session::call_of_request(std::uint64_t id) {
  const auto again = repeated_.find(id);
  const auto found = calls_.find(again == repeated_.end() ? id : again->second);
  return found != calls_.end() && found->second.sent && found->second.request == id ? found : calls_.end();
}

void mcp_session::forget(open_call found) {
  repeated_.erase(found->second.request);
  calls_.erase(found);
}

void mcp_session::take_call_end(open_call found, incoming& one) {
  const mcp_call_number number = found->first;
  const bool answered = one.message.what == rpc::message::kind::answer;
  if (answered && stateless_ && !found->second.cancelled && mcp::wants_input(one.message.body)) {
    repeated_.erase(std::exchange(found->second.request, 0));
    return take_step(found, found->second.questions.required(who_, one.message.body));
  }
  const call ended = std::move(found->second);
  repeated_.erase(ended.request);
  calls_.erase(found);
  if (ended.cancelled) {
    cancelled_.erase(number);
    const bool is_result = answered && !(stateless_ && mcp::wants_input(one.message.body));
    effects_.emplace_back(late{number, is_result ? "too_late" : "done"});
    return;
  }
  if (answered)
    effects_.emplace_back(tell{number, mcp::ended_with(who_, one.message.body)});
  else
    effects_.emplace_back(
        tell{number, mcp_call_events::failed{
                         mcp::of_error(who_, "tool \"" + excerpt(ended.tool, 80) + "\"", one.message.body), true}});
}

void mcp_session::close(const std::string& reason) {
  end(failure_of(server_code::mcp_unreachable, who_ + " is gone: " + excerpt(reason, mcp_limits::shown_characters)));
}

void mcp_session::end(fault why) {
  if (phase_ == phase::over) return;
  phase_ = phase::over;
  over_ = std::move(why);
  for (auto& [number, one] : std::exchange(calls_, {})) {
    if (one.cancelled)
      effects_.emplace_back(late{number, "ignored"});
    else
      effects_.emplace_back(tell{number, mcp_call_events::failed{over_, one.sent}});
  }
  cancelled_.clear();
  repeated_.clear();
  pages_.reset();
  if (std::exchange(wanted_, false)) effects_.emplace_back(list{tl::unexpected(over_)});
}

} // namespace quell::integrations
