// The conversation with one MCP server over HTTP: calls, cancels, exchanges.
#include "integrations/mcp/http_conversation.hpp"

#include <algorithm>

#include "integrations/mcp/http_faults.hpp"
#include "integrations/mcp/limits.hpp"
#include "integrations/mcp/param_headers.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations {
namespace {

using std::chrono::milliseconds;

constexpr auto zombies_ask_for = milliseconds(60'000); ///< how long a cancelled call can still ask questions
constexpr auto release_time = milliseconds(1'000);     ///< wait after the answer for the end of the body

} // namespace

http_conversation::http_conversation(transfers& network, settings what)
    : network_(network), settings_(std::move(what)), who_(mcp::who_is(settings_.name)) {}

http_conversation::time_point http_conversation::after(milliseconds time, time_point now) const {
  constexpr milliseconds longest = std::chrono::hours(24 * 365);
  return now + std::clamp(time, milliseconds(0), longest);
}

// A server's text can repeat what we sent it, so the key is removed.
fault http_conversation::clean(fault why) const {
  why.detail = without(std::move(why.detail), settings_.key);
  why.detail = without(std::move(why.detail), token_);
  why.detail = without(std::move(why.detail), session_);
  return why;
}

void http_conversation::complain(std::string what) {
  if (settings_.hooks.warning) settings_.hooks.warning(without(without(std::move(what), settings_.key), token_));
}

std::vector<std::string> http_conversation::headers(purpose why, std::string_view method, std::string_view name,
                                                    const std::string& token) const {
  std::vector<std::string> all{"Content-Type: application/json", "Accept: application/json, text/event-stream"};
  if (is_get(why)) all = {"Accept: text/event-stream"};
  const std::string& bearer = settings_.key.empty() ? token : settings_.key;
  if (!bearer.empty()) all.push_back("Authorization: Bearer " + bearer);
  const bool stateless = stateless_ || (why == purpose::handshake && phase_ == phase::probing);
  if (stateless) {
    all.push_back("MCP-Protocol-Version: " + std::string(mcp::stateless_version));
    if (!method.empty()) all.push_back("Mcp-Method: " + std::string(method));
    if (!name.empty()) all.push_back("Mcp-Name: " + mcp::header_value(name));
  } else if (why != purpose::handshake || phase_ == phase::confirming) {
    all.push_back("MCP-Protocol-Version: " + protocol_);
    if (!session_.empty()) all.push_back("Mcp-Session-Id: " + session_);
  }
  return all;
}

http_conversation::exchange_id http_conversation::open(purpose why, std::string body, std::string_view method,
                                                       std::string_view name, time_point alarm,
                                                       std::vector<std::string> more) {
  const exchange_id id = ++next_exchange_;
  if (settings_.key.empty() && settings_.options.credentials) token_ = settings_.options.credentials->token();
  http_ask ask{why == purpose::goodbye ? http_ask::method::remove
               : is_get(why)           ? http_ask::method::get
                                       : http_ask::method::post,
               settings_.url,
               headers(why, method, name, token_),
               std::move(body),
               settings_.options.ca_file,
               settings_.options.connect_timeout,
               is_call(why)};
  std::move(more.begin(), more.end(), std::back_inserter(ask.headers));
  exchange& one = exchanges_[id];
  one.why = why;
  one.session = session_;
  one.token = token_;
  one.alarm = alarm;
  one.http = std::make_unique<http_exchange>(network_, std::move(ask), [this, id] { news_.push_back(id); });
  if (alarm != time_point::max()) alarms_.insert({alarm, id});
  return id;
}

void http_conversation::close(exchange_id id) {
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;
  alarms_.erase({found->second.alarm, id});
  if (found->second.why == purpose::cancel) cancels_.erase(found->second.call);
  if (id == listening_) listening_ = 0;
  exchanges_.erase(found);
}

// The end of the body frees the connection for another request.
void http_conversation::linger(exchange_id id, time_point now) {
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;
  if (found->second.http->ending()) return close(id);
  alarms_.erase({found->second.alarm, id});
  found->second.why = purpose::lingering;
  found->second.alarm = now + release_time;
  alarms_.insert({found->second.alarm, id});
}

void http_conversation::begin(call_number number, std::shared_ptr<mcp_call_channel> channel, const std::string& tool,
                              const std::string& input, const std::string& operation, time_point now) {
  const auto refuse = [&](std::string detail) {
    channel->tell(mcp_call_events::failed{failure_of(server_code::mcp_refused, std::move(detail)), false});
  };
  if (!mcp::input_object(input)) return refuse("the input of tool \"" + excerpt(tool, 80) + "\" is not a JSON object");
  if (calls_.size() >= mcp_limits::open_calls) return refuse(who_ + " has too many calls open already");
  call& one = calls_[number];
  one.channel = std::move(channel);
  one.tool = tool;
  one.input = input;
  one.operation = operation;
  if (phase_ == phase::ready)
    send_call(number, one, now);
  else
    begin_handshake(now);
}

void http_conversation::send_call(call_number number, call& one, time_point now) {
  const std::uint64_t request = ++next_request_;
  json input = mcp::input_object(one.input).value_or(json::object());
  std::vector<std::string> more;
  if (const auto wanted = param_headers_.find(one.tool); stateless_ && wanted != param_headers_.end())
    more = mcp::param_header_lines(wanted->second, input);
  json params = mcp::call_params(one.tool, std::move(input), request, one.operation);
  one.questions.add_to(params);
  one.waits_for_human = false;
  if (stateless_) params = mcp::with_stateless_meta(std::move(params));
  const milliseconds limit = settings_.options.call_timeout;
  one.deadline = limit.count() > 0 ? after(limit, now) : time_point::max();
  one.request = request;
  one.session = session_;
  listen(now);
  one.at = open(purpose::call, rpc::request(request, "tools/call", std::move(params)), "tools/call", one.tool,
                one.deadline, std::move(more));
  exchange& made = exchanges_.at(one.at);
  made.request = request;
  made.call = number;
}

void http_conversation::tell_end(call_number number, mcp_call_event event) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return;
  const auto channel = found->second.channel;
  resumes_.erase({found->second.resume_at, number});
  calls_.erase(found);
  if (auto* failed = std::get_if<mcp_call_events::failed>(&event)) failed->why = clean(std::move(failed->why));
  channel->tell(std::move(event));
}

void http_conversation::cancel(call_number number, const std::string& reason, time_point now) {
  auto found = calls_.find(number);
  if (found == calls_.end()) return;
  // An answer that has already arrived came before the cancel.
  if (found->second.at != 0) look(found->second.at, now);
  found = calls_.find(number);
  if (found == calls_.end()) return;
  const call gone = std::move(found->second);
  resumes_.erase({gone.resume_at, number});
  calls_.erase(found);
  if (gone.request == 0) return gone.channel->became("not_sent");
  if (gone.waits_for_human)
    return gone.channel->became("done"); // the call has already ended there by asking its question
  const bool sent = gone.at == 0 ||
                    exchanges_.at(gone.at).why == purpose::resumption || // the continuation of a request that was sent
                    exchanges_.at(gone.at).http->sent();
  const std::uint64_t request = gone.request;
  close(gone.at);
  if (!sent) return gone.channel->became("not_sent");
  if (stateless_) return gone.channel->became("ignored"); // closing was the cancel; no answer can come
  unclear_until_ = after(zombies_ask_for, now);
  send_cancel(request, gone.channel, reason, now);
  cancels_[number] = next_exchange_;
  exchanges_.at(next_exchange_).call = number;
}

void http_conversation::send_cancel(std::uint64_t request, std::shared_ptr<mcp_call_channel> channel,
                                    const std::string& reason, time_point now) {
  constexpr std::string_view method = "notifications/cancelled";
  const exchange_id id = open(purpose::cancel, rpc::notification(method, mcp::cancel_params(request, reason)), method,
                              {}, after(settings_.options.cancel_timeout, now));
  exchanges_.at(id).channel = std::move(channel);
}

void http_conversation::stop_waiting(call_number number) {
  // The notification is still delivered; only its record is closed.
  if (const auto found = cancels_.find(number); found != cancels_.end())
    if (const auto channel = exchanges_.at(found->second).channel) channel->became("ignored");
}

void http_conversation::step(time_point now) {
  while (!news_.empty()) {
    const std::vector<exchange_id> news = std::exchange(news_, {});
    for (const exchange_id id : news) look(id, now);
  }
  while (!alarms_.empty() && alarms_.begin()->first <= now) {
    const exchange_id id = alarms_.begin()->second;
    alarms_.erase(alarms_.begin());
    ring(id, now);
  }
  resume(now);
  if (listen_at_ <= now) listen(now);
  if (rest_ <= now) {
    rest_ = time_point::max();
    if (phase_ == phase::ready)
      ask_page(now);
    else
      shake(phase_, now);
  }
}

http_conversation::time_point http_conversation::next() const {
  const time_point first = std::min({rest_, listen_at_, alarms_.empty() ? time_point::max() : alarms_.begin()->first});
  return std::min(first, resumes_.empty() ? time_point::max() : resumes_.begin()->first);
}

void http_conversation::look(exchange_id id, time_point now) {
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;
  for (const std::string& text : found->second.http->messages())
    if (take(id, text, now)) return;
  if (const auto again = exchanges_.find(id); again != exchanges_.end() && again->second.http->ending())
    take_ending(id, now);
}

bool http_conversation::take(exchange_id id, const std::string& text, time_point now) {
  auto whole = parse_json(text);
  if (!whole) return complain(who_ + " sends what is not JSON"), false;
  if (!whole->is_array()) {
    rpc::message message = rpc::read(std::move(*whole));
    return take_answer(id, message, now);
  }
  for (json& part : *whole) {
    rpc::message message = rpc::read(std::move(part));
    if (take_answer(id, message, now)) return true;
  }
  return false;
}

bool http_conversation::take_answer(exchange_id id, rpc::message& message, time_point now) {
  using kind = rpc::message::kind;
  exchange& one = exchanges_.at(id);
  switch (message.what) {
  case kind::answer:
  case kind::error: {
    // An error from before the id was read has no id; it can only be about the one request of this exchange.
    const bool ours = one.request != 0 &&
                      (rpc::own_id(message.id) == one.request || (message.what == kind::error && message.id.is_null()));
    if (!ours || one.why == purpose::lingering) return false;
    if (one.why == purpose::handshake) {
      take_handshake(id, message, now);
    } else if (one.why == purpose::page) {
      linger(id, now);
      take_page(message, now);
    } else if (is_call(one.why)) {
      take_call_answer(id, message, now);
    }
    return true;
  }
  case kind::notification:
    if (message.method == "notifications/progress" && is_call(one.why) &&
        mcp::progress_token(message.body) == one.request) {
      if (const auto found = calls_.find(one.call); found != calls_.end())
        found->second.channel->tell(mcp::progress_of(message.body));
    } else if (message.method == "notifications/cancelled") {
      take_back(id, message, now);
    } else if (message.method == "notifications/tools/list_changed") {
      tools_.reset();
      if (settings_.hooks.tools_changed) settings_.hooks.tools_changed();
    }
    return false;
  case kind::request:
    // A listening stream lives long, so its limit counts the answers in progress instead.
    if (one.why == purpose::listening ? exchanges_.size() <= calls_.size() + mcp_limits::stream_requests
                                      : ++one.server_requests <= mcp_limits::stream_requests)
      if (!ended_) take_request(id, message, now);
    return false;
  case kind::nothing:
    complain(who_ + " sends JSON that is not a message of JSON-RPC");
    return false;
  }
  return false;
}

} // namespace quell::integrations
