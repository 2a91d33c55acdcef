// The requests to the agent, and their times. Its answers: agent_answers.cpp.
#include "integrations/a2a/agent_talk.hpp"

#include <algorithm>

#include "integrations/a2a/limits.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations::a2a {

agent_talk::exchange_id agent_talk::ask(purpose why, call_number of, http_ask what, std::chrono::milliseconds limit,
                                        time_point now) {
  what.ca_file = settings_.ca_file;
  what.connect_timeout = settings_.connect_timeout;
  what.headers.emplace_back("A2A-Version: 1.0");
  if (!settings_.key.empty()) what.headers.push_back("Authorization: Bearer " + settings_.key);
  const auto id = ++next_exchange_;
  exchange& made = exchanges_[id];
  made.why = why;
  made.of = of;
  if (limit.count() > 0) made.until = now + limit;
  made.talk = std::make_unique<http_exchange>(network_, std::move(what), [this, id] {
    if (news_.empty() || news_.back() != id) news_.push_back(id);
  });
  return id;
}

http_ask agent_talk::post(const std::string& method, json params, answer_form form) const {
  if (!card_->tenant.empty()) params["tenant"] = card_->tenant;
  http_ask what;
  what.url = card_->url;
  what.headers = {"Content-Type: application/json", form == answer_form::stream
                                                        ? "Accept: text/event-stream, application/json"
                                                        : "Accept: application/json"};
  what.body =
      dump_json({{"jsonrpc", "2.0"}, {"id", ++next_request_}, {"method", method}, {"params", std::move(params)}});
  what.never_twice = true;
  return what;
}

void agent_talk::ask_for_card(time_point now) {
  if (reading_card_ != 0) return;
  http_ask what;
  what.how = http_ask::method::get;
  what.url = card_address(settings_.url);
  what.headers = {"Accept: application/json"};
  reading_card_ = ask(purpose::card, 0, std::move(what), a2a_limits::request_timeout, now);
}

/// A card that is known is offered at once, also while a newer one is read.
void agent_talk::list(mcp_server::tools_reply reply, time_point now) {
  if (is_over_) return reply(failure(server_code::a2a_unreachable, who() + ": quelld is ending"));
  if (!card_ || now >= card_until_) ask_for_card(now);
  if (!card_ || is_lost_) {
    askers_.push_back(std::move(reply));
    return;
  }
  reply(std::vector<mcp_tool>{card_->tool});
}

void agent_talk::begin(call_number number, std::shared_ptr<mcp_call_channel> channel, const std::string& input_json,
                       const std::string& operation, const std::string& task, time_point now) {
  const bool is_followed = !task.empty(); // then it goes on there, whatever happens here
  const auto refuse = [&](fault why) { channel->tell(mcp_call_events::failed{std::move(why), is_followed}); };
  if (is_over_) return refuse(failure_of(server_code::a2a_unreachable, who() + ": quelld is ending"));
  if (calls_.size() >= a2a_limits::open_calls)
    return refuse(failure_of(is_followed ? server_code::a2a_unreachable : server_code::a2a_refused,
                             who() + ": too many calls of it are open; wait until some have ended"));
  call one(files_);
  if (!is_followed) {
    auto order = read_order(input_json);
    if (!order) return refuse(order.error());
    one.order = std::move(*order);
  } else {
    one.is_followed = one.is_sent = one.is_named = true;
    if (!one.view.take({{"id", task}, {"status", json::object()}}))
      return channel->tell(
          mcp_call_events::failed{failure_of(server_code::a2a_broken, who() + ": its task is unknown"), true});
  }
  one.channel = std::move(channel);
  one.operation = operation;
  one.answered_at = now;
  auto& kept = calls_.insert_or_assign(number, std::move(one)).first->second;
  if (!card_) return ask_for_card(now);
  if (kept.is_followed)
    look(number, kept, now);
  else
    send(number, kept, now);
}

void agent_talk::ask_end(call_number number, std::shared_ptr<mcp_call_channel> channel, const std::string& task,
                         time_point now) {
  if (calls_.size() >= a2a_limits::open_questions) return channel->became("ignored"); // calls and stops come first
  begin(number, std::move(channel), {}, {}, task, now);
  const auto found = calls_.find(number);
  if (found == calls_.end()) return; // it could not begin, and the channel knows
  found->second.is_cancelled = found->second.is_query = true;
  found->second.give_up_at = now + a2a_limits::cancel_timeout;
}

void agent_talk::send(call_number number, call& one, time_point now) {
  json message{{"messageId", one.operation},
               {"role", "ROLE_USER"},
               {"parts", json::array({{{"text", one.order.message}}})},
               {"metadata", {{"quell/operation", one.operation}}}};
  if (!one.order.conversation.empty()) message["contextId"] = one.order.conversation;
  if (!one.order.task.empty()) message["taskId"] = one.order.task;
  json params{{"message", std::move(message)},
              {"configuration",
               {{"returnImmediately", true},
                {"historyLength", 0},
                {"acceptedOutputModes", json::array({"text/plain", "application/json"})}}}};
  const bool streams = card_->streams;
  one.sending = ask(purpose::send, number,
                    post(streams ? "SendStreamingMessage" : "SendMessage", std::move(params),
                         streams ? answer_form::stream : answer_form::whole),
                    streams ? std::chrono::seconds(0) : a2a_limits::request_timeout, now);
  if (streams) one.look_at = now + a2a_limits::silent_stream;
}

void agent_talk::look(call_number number, call& one, time_point now) {
  one.look_at = time_point::max();
  if (one.looking != 0 || one.view.id().empty()) return;
  one.looking =
      ask(purpose::look, number, post("GetTask", {{"id", one.view.id()}, {"historyLength", 0}}, answer_form::whole),
          a2a_limits::request_timeout, now);
}

void agent_talk::stop(call_number number, call& one, time_point now) {
  one.stop_at = time_point::max();
  if (one.is_query || one.stopping != 0 || one.view.id().empty() || !card_) return;
  const auto reason = excerpt(one.reason, 500);
  one.stopping =
      ask(purpose::stop, number,
          post("CancelTask", {{"id", one.view.id()}, {"metadata", {{"reason", reason}}}}, answer_form::whole),
          a2a_limits::request_timeout, now);
}

void agent_talk::cancel(call_number number, const std::string& reason, time_point now) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return;
  call& one = found->second;
  if (one.is_cancelled) return;
  one.is_cancelled = true;
  one.reason = reason;
  one.give_up_at = now + a2a_limits::cancel_timeout;
  if (!has_left(one)) {
    close(one.sending);
    return settle(one, "not_sent");
  }
  stop(number, one, now);
}

bool agent_talk::has_left(const call& one) const {
  const auto at = exchanges_.find(one.sending);
  return one.is_sent || (at != exchanges_.end() && at->second.talk->sent());
}

void agent_talk::stop_waiting(call_number number) {
  if (const auto found = calls_.find(number); found != calls_.end()) settle(found->second, "ignored");
}

void agent_talk::settle(call& one, const std::string& late) {
  one.channel->became(late);
  one.is_ended = true;
}

void agent_talk::fail(call& one, fault why, bool was_sent) {
  if (one.is_cancelled) return settle(one, was_sent ? "ignored" : "not_sent");
  one.is_ended = true;
  one.channel->tell(mcp_call_events::failed{std::move(why), was_sent});
}

void agent_talk::close(exchange_id& id) {
  exchanges_.erase(id);
  id = 0;
}

agent_talk::time_point agent_talk::next() const {
  auto at = time_point::max();
  for (const auto& [id, one] : exchanges_) at = std::min(at, one.until);
  for (const auto& [number, one] : calls_) at = std::min({at, one.look_at, one.stop_at, one.give_up_at});
  return at;
}

void agent_talk::step(time_point now) {
  for (const auto id : std::exchange(news_, {})) take_news(id, now);
  std::vector<exchange_id> late;
  for (const auto& [id, one] : exchanges_)
    if (one.until <= now) late.push_back(id);
  for (const auto id : late) {
    const auto at = exchanges_.find(id);
    if (at == exchanges_.end()) continue;
    http_ending end;
    end.sent = at->second.talk->sent();
    end.transport = "no answer came within " + std::to_string(a2a_limits::request_timeout.count()) + " s";
    const auto why = at->second.why;
    const auto of = at->second.of;
    const bool answered = at->second.answered;
    exchanges_.erase(at);
    if (why == purpose::card) {
      card_ended(end, {}, now);
    } else if (const auto found = calls_.find(of); found != calls_.end()) {
      exchange_ended(why, answered, end, found->second, now);
    }
  }
  for (auto& [number, one] : calls_) {
    if (one.is_ended) continue;
    if (one.give_up_at <= now) {
      settle(one, one.is_refused ? "refused" : "ignored");
      continue;
    }
    if (one.look_at <= now && card_) look(number, one, now);
    if (one.look_at <= now) { // it is looked at when the card comes
      one.look_at = time_point::max();
      ask_for_card(now);
    }
    if (one.stop_at <= now) stop(number, one, now);
  }
  sweep();
}

void agent_talk::sweep() {
  for (auto at = calls_.begin(); at != calls_.end();) {
    if (!at->second.is_ended) {
      ++at;
      continue;
    }
    for (auto* id : {&at->second.sending, &at->second.looking, &at->second.stopping}) close(*id);
    at = calls_.erase(at);
  }
}

void agent_talk::end(time_point) {
  is_over_ = true;
  for (auto& [number, one] : calls_)
    if (!one.is_ended) fail(one, failure_of(server_code::a2a_unreachable, who() + ": quelld is ending"), has_left(one));
  calls_.clear();
  answer_list(failure(server_code::a2a_unreachable, who() + ": quelld is ending"));
  exchanges_.clear();
  news_.clear();
}

} // namespace quell::integrations::a2a
