// Performs the effects of a turn one after the other. An effect that must be durable holds back those behind it, but
// not a stop: streams and tools have been notified of the stop before.
#include <algorithm>

#include "actors/agent/agent.hpp"

namespace quell::actors {

void agent::take(std::vector<turn_effect> effects) {
  for (auto& e : effects) waiting_.push_back(std::move(e));
  perform_next();
}

void agent::perform_next() {
  while (!is_held_up_ && !waiting_.empty()) {
    turn_effect next = std::move(waiting_.front());
    waiting_.pop_front();
    is_held_up_ = std::visit([this](auto& e) { return perform(e); }, next);
  }
  end_if_nothing_is_left();
}

void agent::held_up_no_more() {
  is_held_up_ = false;
  perform_next();
}

bool agent::perform(turn_effects::ask_model& e) {
  if (is_over()) return false;
  call_number_ = e.number;
  port_.expect_request(e.messages);
  port_.open_model_call(e.number,
                        back<result<operation_id>>([this, number = e.number, messages = std::move(e.messages)](
                                                       const result<operation_id>& opened) mutable {
                          ask_model(number, std::move(messages), opened);
                        }));
  return false;
}

void agent::ask_model(std::uint32_t number, conversation messages, const result<operation_id>& opened) {
  if (!opened) {
    // A stale start: its stop is already on the way to this agent.
    if (!is_over() && !has_code(opened.error(), error_code::stale_start)) take(turn_.fail(opened.error(), loop_.now()));
    return;
  }
  model_call_ = *opened;
  for (auto& one : turn_.steered(port_.take_steering())) messages.emplace_back(std::move(one));
  if (is_over()) return close_model_call(failure_of(failure_code::error, "not asked: the turn was over"), {});
  stream_ = port_.ask_model(std::move(messages), post_, [this, post = post_, number](model_event event) {
    post([this, number, event = std::move(event)]() mutable { on_model_event(number, std::move(event)); });
  });
}

void agent::hang_up() {
  if (!stream_ || !model_call_) return;
  ++closing_;
  // Known only after the line is cut; `closed` comes back through the loop, so it runs later.
  const auto used = std::make_shared<model_usage>();
  auto closed = back([this, id = *model_call_, used] {
    port_.close_last_model_call(id, failure_of(failure_code::error, "the stream was closed"), *used);
    --closing_;
    end_if_nothing_is_left();
  });
  const auto stream = std::exchange(stream_, nullptr);
  model_call_.reset();
  stream->hang_up(std::move(closed));
  *used = stream->used();
  cut_usage_ += *used;
  answer_usage_ = *used;
}

bool agent::perform(turn_effects::hang_up&) {
  hang_up();
  return false;
}

bool agent::perform(turn_effects::store_answer& e) {
  const bool is_last = e.what.calls.empty() && !e.what.interrupted && !waiting_.empty() &&
                       std::holds_alternative<turn_effects::end>(waiting_.front());
  if (is_last) {
    last_answer_ = {std::move(e.what), std::exchange(answer_usage_, {})};
    return false;
  }
  std::vector<tool_traits> traits;
  for (const auto& c : e.what.calls) traits.push_back(port_.traits(c));
  const auto what = e.what;
  port_.store_answer(what, traits, std::exchange(answer_usage_, {}),
                     back<result<std::vector<operation_id>>>(
                         [this, e](const result<std::vector<operation_id>>& calls) { answer_stored(e, calls); }));
  return true;
}

void agent::answer_stored(const turn_effects::store_answer& e, const result<std::vector<operation_id>>& calls) {
  if (calls) {
    for (std::size_t i = 0; i < calls->size() && i < e.what.calls.size(); ++i)
      calls_[e.first_call + static_cast<call_number>(i)] = {(*calls)[i], e.what.calls[i], false};
  } else if (!is_over()) {
    auto more = turn_.fail(calls.error(), loop_.now());
    waiting_.insert(waiting_.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  } else {
    fail_the_end(calls.error());
  }
  held_up_no_more();
  for (const auto& [call, reason] : std::exchange(stopped_early_, {})) call_stopped(call, reason);
}

/// A turn whose last answer could not be stored has failed, whatever end it was about to report.
void agent::fail_the_end(const fault& why) {
  for (auto& e : waiting_)
    if (auto* end = std::get_if<turn_effects::end>(&e); end && !end->aborted)
      end->aborted = abort_reason::error, end->error = why;
}

bool agent::perform(turn_effects::store_result& e) {
  known_call* const call = call_of(e.number);
  if (!call || call->is_answered) return false;
  call->is_answered = true;
  const bool is_timeout = std::any_of(waiting_.begin(), waiting_.end(), [&](const turn_effect& later) {
    const auto* stop = std::get_if<turn_effects::stop_tool>(&later);
    return stop && stop->number == e.number && stop->timed_out;
  });
  auto done = back<tool_result>([this](const tool_result&) { held_up_no_more(); });
  if (is_timeout)
    port_.time_out_call(call->operation, e.what, std::move(done));
  else
    port_.close_call(call->operation, e.what, std::move(done));
  return true;
}

bool agent::perform(turn_effects::run_tool& e) {
  const known_call* const call = call_of(e.number);
  if (!call || call->is_answered || is_over()) return false;
  loop_.start_tool(e.number, call->operation, port_.work_for(call->operation, call->what, turn_));
  return false;
}

bool agent::perform(turn_effects::ask_human& e) {
  const known_call* const call = call_of(e.number);
  if (!call || call->is_answered || is_over()) return false;
  port_.ask_human(call->operation, call->what, e.rule);
  return false;
}

bool agent::perform(turn_effects::stop_tool& e) {
  loop_.stop_tool(e.number, e.timed_out ? "it ran for longer than its timeout" : stop_reason_);
  return false;
}

bool agent::perform(turn_effects::say_text& e) {
  if (unsaid_.empty()) unsaid_offset_ = e.offset;
  unsaid_ += e.text;
  say_what_waits();
  return false;
}

void agent::say_what_waits() {
  if (is_saying_ || unsaid_.empty()) return;
  is_saying_ = true;
  port_.say_text(unsaid_offset_, std::exchange(unsaid_, {}), back([this] {
                   is_saying_ = false;
                   say_what_waits();
                   end_if_nothing_is_left();
                 }));
}

bool agent::perform(turn_effects::say_thinking& e) {
  if (unthought_.empty()) unthought_offset_ = e.offset;
  unthought_ += e.text;
  think_what_waits();
  return false;
}

void agent::think_what_waits() {
  if (is_thinking_ || unthought_.empty()) return;
  is_thinking_ = true;
  port_.say_thinking(unthought_offset_, std::exchange(unthought_, {}), back([this] {
                       is_thinking_ = false;
                       think_what_waits();
                       end_if_nothing_is_left();
                     }));
}

bool agent::perform(turn_effects::say_model_note& e) {
  port_.say_model_note(e.what);
  return false;
}

bool agent::perform(turn_effects::say_call_started& e) { return say(e.number, e); }
bool agent::perform(turn_effects::say_call_timed_out& e) { return say(e.number, e); }
bool agent::perform(turn_effects::say_call_progress& e) { return say(e.number, e); }
bool agent::perform(turn_effects::say_result& e) { return say(e.number, e); }

bool agent::say(call_number number, const agent_news& news) {
  const known_call* const call = call_of(number);
  if (call) port_.say(call->operation, call->what, news);
  return false;
}

bool agent::perform(turn_effects::end& e) {
  end_ = e;
  end_->usage += cut_usage_;
  return false;
}

void agent::end_if_nothing_is_left() {
  if (!end_ || closing_ > 0 || is_held_up_ || !waiting_.empty()) return;
  // The port keeps the order of what it is given, so nothing waits for texts that are being sent.
  if (!unthought_.empty()) port_.say_thinking(unthought_offset_, std::exchange(unthought_, {}), [] {});
  if (!unsaid_.empty()) port_.say_text(unsaid_offset_, std::exchange(unsaid_, {}), [] {});
  const auto how = *std::exchange(end_, std::nullopt);
  port_.end(how, std::exchange(last_answer_, std::nullopt), turn_.tool_calls(), back([this] { loop_.over(); }));
}

} // namespace quell::actors
