// The meaning of a remote agent's answers for its card and its calls.
#include <algorithm>

#include "integrations/a2a/agent_talk.hpp"
#include "integrations/a2a/limits.hpp"
#include "integrations/mcp/http_faults.hpp"
#include "integrations/mcp/limits.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations::a2a {
namespace {

constexpr std::int64_t a2a_task_not_found = -32001, task_not_cancelable = -32002, a2a_unsupported_operation = -32004;
constexpr std::int64_t a2a_invalid_request = -32600, a2a_method_not_found = -32601, a2a_invalid_params = -32602;

/// An answer to this request. Every other error, such as an internal one, can pass.
bool is_lasting(const json& code) {
  return code == json(a2a_task_not_found) || code == json(task_not_cancelable) ||
         code == json(a2a_unsupported_operation) || code == json(a2a_invalid_request) ||
         code == json(a2a_method_not_found) || code == json(a2a_invalid_params);
}

/// The late outcome that a task's state is for a cancelled call.
const char* late_outcome(const task_view& view) {
  if (view.is_message()) return "too_late";
  switch (view.state()) {
  case task_state::canceled:
  case task_state::rejected:
    return "done";
  case task_state::completed:
    return "too_late";
  case task_state::failed:
    return "failed";
  default:
    return nullptr;
  }
}

} // namespace

/// With the words of MCP over HTTP, under this protocol's codes.
fault agent_talk::fault_of(std::string_view what, const http_ending& end) const {
  auto why = of_http_ending(who(), what, end);
  if (why.code.starts_with("mcp_")) why.code = "a2a_" + why.code.substr(4);
  why.detail = without(std::move(why.detail), settings_.key);
  return why;
}

void agent_talk::answer_list(const result<std::vector<mcp_tool>>& tools) {
  for (const auto& reply : std::exchange(askers_, {})) reply(tools);
}

void agent_talk::card_ended(const http_ending& end, const std::vector<std::string>& messages, time_point now) {
  reading_card_ = 0;
  const bool is_good = end.status >= 200 && end.status <= 299 && end.broken.empty() && end.transport.empty();
  const auto whole = is_good ? parse_json(messages.empty() ? end.body : messages.front()) : std::nullopt;
  auto read = whole ? read_card(*whole, settings_.name, settings_.url)
                    : result<agent_card>(tl::unexpected(fault_of("its card", end)));
  if (!read) {
    is_lost_ = card_.has_value();
    card_until_ = now;
    // A task of an earlier life goes on there; the card is asked for again.
    for (auto& [number, one] : calls_) {
      const bool waits = !card_ && !one.is_ended && one.sending == 0 && one.looking == 0;
      if (!waits) continue;
      if (!one.is_followed)
        fail(one, read.error(), false);
      else if (now - one.answered_at > a2a_limits::lost_after)
        fail(one, read.error(), true);
      else
        look_later(one, now);
    }
    return answer_list(tl::unexpected(read.error()));
  }
  const bool is_first = !card_;
  card_ = std::move(*read);
  is_lost_ = false;
  card_until_ = now + a2a_limits::card_fresh;
  for (auto& [number, one] : calls_) {
    if (one.is_ended || !is_first) continue;
    if (one.is_followed)
      look(number, one, now);
    else if (one.sending == 0 && !one.is_sent)
      send(number, one, now);
    if (one.is_cancelled) stop(number, one, now);
  }
  answer_list(std::vector<mcp_tool>{card_->tool});
}

void agent_talk::take_news(exchange_id id, time_point now) {
  const auto at = exchanges_.find(id);
  if (at == exchanges_.end()) return;
  exchange& from = at->second;
  const auto messages = from.talk->messages();
  const auto ending = from.talk->ending();
  if (from.why == purpose::card) {
    if (!ending) return;
    exchanges_.erase(at);
    return card_ended(*ending, messages, now);
  }
  const auto number = from.of;
  const auto found = calls_.find(number);
  if (found == calls_.end()) {
    exchanges_.erase(at);
    return;
  }
  call& one = found->second;
  for (const auto& text : messages) {
    if (one.is_ended) return;
    take_message(from, number, one, text, now);
  }
  if (!ending) return;
  const auto why = from.why;
  const bool was_answered = from.answered;
  exchanges_.erase(id);
  if (!one.is_ended) exchange_ended(why, was_answered, *ending, one, now);
}

void agent_talk::take_message(exchange& from, call_number number, call& one, const std::string& text, time_point now) {
  const auto whole = parse_json(text);
  if (!whole || !whole->is_object()) return; // then no answer comes, which the end of the exchange reports
  if (from.why == purpose::send) one.is_sent = true;
  if (const json& error = member(*whole, "error"); error.is_object()) return take_refusal(from, one, error, now);
  if (!one.view.take(member(*whole, "result"))) return;
  one.answered_at = now; // only if it is about this task
  from.answered = true;
  if (from.why == purpose::stop && one.sending == 0) one.look_at = now + a2a_limits::first_look;
  take_state(number, one, now);
}

void agent_talk::take_state(call_number number, call& one, time_point now) {
  if (!one.is_named && !one.view.id().empty()) {
    one.is_named = true;
    one.channel->tell(mcp_call_events::named{one.view.id()});
    if (one.is_cancelled) stop(number, one, now);
  }
  if (one.sending != 0) one.look_at = now + a2a_limits::silent_stream;
  if (one.is_cancelled) {
    if (const auto* late = late_outcome(one.view)) return settle(one, late);
    return;
  }
  if (one.view.is_over()) {
    const bool is_left = one.view.state() == task_state::auth_required;
    one.channel->tell(one.view.end());
    if (!is_left) {
      one.is_ended = true;
      return;
    }
    // Nobody will answer it: it is told to stop.
    one.is_cancelled = true;
    one.reason = "a login is needed, and nobody waits for it";
    one.give_up_at = now + a2a_limits::cancel_timeout;
    return stop(number, one, now);
  }
  if (one.view.status_text() != one.shown) {
    one.shown = one.view.status_text();
    one.pause = a2a_limits::first_look;
    mcp_call_events::progress shown;
    shown.message = excerpt(one.shown, mcp_limits::message_characters);
    one.channel->tell(std::move(shown));
  }
}

void agent_talk::take_refusal(exchange& from, call& one, const json& error, time_point now) {
  const auto words = excerpt(without(text_member(error, "message"), settings_.key), mcp_limits::shown_characters);
  const fault why =
      failure_of(server_code::a2a_refused, who() + " refuses: " + (words.empty() ? "it does not say why" : words));
  const json& number = member(error, "code");
  from.answered = from.why != purpose::look || is_lasting(number);
  switch (from.why) {
  case purpose::send:
    // With a task it is an error of the stream, not of the task.
    if (!one.is_named) return one.is_cancelled ? settle(one, "done") : fail(one, why, true);
    return;
  case purpose::look:
    if (!from.answered) return;
    return one.is_query ? settle(one, "ignored")
           : one.is_cancelled
               ? settle(one, "refused")
               : fail(one, failure_of(server_code::a2a_lost, who() + " does not know the task any more: " + words),
                      true);
  case purpose::stop:
    if (!is_lasting(number)) {
      one.stop_at = now + a2a_limits::first_look * 2;
      return;
    }
    one.is_refused = true;
    // It can have ended in between: what it is then is looked at once more.
    if (number == json(task_not_cancelable)) {
      one.look_at = now;
      one.give_up_at = std::min(one.give_up_at, now + a2a_limits::request_timeout);
      return;
    }
    return settle(one, "refused");
  case purpose::card:
    return;
  }
}

void agent_talk::look_later(call& one, time_point now) {
  one.pause =
      std::clamp<std::chrono::milliseconds>(one.pause * 3 / 2, a2a_limits::first_look, a2a_limits::longest_look);
  one.look_at = now + (one.sending != 0 ? std::chrono::milliseconds(a2a_limits::silent_stream) : one.pause);
}

void agent_talk::exchange_ended(purpose why, bool was_answered, const http_ending& end, call& one, time_point now) {
  switch (why) {
  case purpose::send:
    one.sending = 0;
    one.is_sent = one.is_sent || end.sent;
    if (one.is_named) {
      one.look_at = now; // the stream is over, or there was none: the task is looked at
    } else if (was_answered) {
      fail(one, failure_of(server_code::a2a_broken, who() + ": its answer names no task"), true);
    } else {
      fail(one, fault_of("the message", end), end.sent);
    }
    return;
  case purpose::look:
    one.looking = 0;
    if (!was_answered) {
      if (!one.is_cancelled && now - one.answered_at > a2a_limits::lost_after)
        return fail(one, fault_of("its task", end), true);
    } else if (one.is_refused) {
      return settle(one, "refused"); // the task runs on, and the agent will not stop it
    }
    look_later(one, now);
    return;
  case purpose::stop:
    one.stopping = 0;
    if (was_answered) return;
    if (!may_pass(end)) return settle(one, "refused");
    one.stop_at = now + a2a_limits::first_look * 2;
    return;
  case purpose::card:
    return;
  }
}

} // namespace quell::integrations::a2a
