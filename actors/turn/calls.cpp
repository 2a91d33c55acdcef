// The calls of the newest answer: which ones can begin, which single result each one gets, and when the model is asked
// again.
//
// Calls begin in their order and run side by side; an exclusive call has the turn to itself. A call that got its result
// early (timeout) can still be running: an exclusive call waits for its end, too, but only for a limited time.
#include <algorithm>

#include "actors/turn/turn.hpp"
#include "protocol/failure_code.hpp"

namespace quell::actors {

using namespace turn_effects;

void turn::take_calls(boot_time now) {
  move_to(turn_phase::calling);
  put_slots();
  out_.push_back(store_answer{answer_, first_});
  messages_.emplace_back(answer_);
  const tool_call* repeated = nullptr;
  for (const auto& c : answer_.calls) {
    slots_.emplace_back(c, traits_(c));
    if (repeated == nullptr && repetition_.is_too_often(c)) repeated = &c;
  }
  if (refuse_calls(repeated, now)) return;
  tool_calls_ += slots_.size();
  start_what_may_start(now);
}

/// Ends the turn if the newest answer has too many calls, or one of them is made again and again.
bool turn::refuse_calls(const tool_call* repeated, boot_time now) {
  const bool too_many = slots_.size() > limits_.calls_per_answer;
  if (repeated == nullptr && !too_many) return false;
  const std::string tool = repeated != nullptr ? repeated->name : slots_.back().what.name;
  close_calls(abort_reason::error, now);
  finish(abort_reason::error,
         failure_of(too_many ? failure_code::too_many_calls : failure_code::repetition,
                    too_many ? "the model made " + std::to_string(slots_.size()) + " calls in one answer; at most " +
                                   std::to_string(limits_.calls_per_answer) + " are allowed"
                             : "the model made the same call of " + tool + " with the same input and result " +
                                   std::to_string(limits_.repetition.ended) + " times within its last " +
                                   std::to_string(limits_.repetition.within) + " calls; the turn was ended"));
  return true;
}

/// The note is for the model; the stored result is the tool's own.
void turn::warn_of_repetition(const tool_call& what, tool_result& result) {
  if (result.cancelled) return;
  const auto times = repetition_.note(what, result.result);
  if (times == 0) return;
  const auto ended = limits_.repetition.ended;
  result.result =
      texts_.noted(result.result, std::string(repetition_guard::warning_begin) + std::to_string(times) +
                                      " times with the same input and gave the same result each time; try another way" +
                                      (ended > 0 ? ", or the turn ends at " + std::to_string(ended) + " times" : ""));
}

/// Makes room for the calls of a new answer; calls of the old answer that still run are remembered.
void turn::put_slots() {
  for (const auto& s : slots_)
    if (s.lives) stragglers_.push_back({number_of(s), s.what.name, s.deadline});
  first_ += static_cast<call_number>(slots_.size());
  slots_.clear();
}

turn::call_slot* turn::slot_of(call_number number) {
  return number >= first_ && number - first_ < slots_.size() ? &slots_[number - first_] : nullptr;
}

bool turn::may_start(const call_slot& s) const {
  if (s.traits.exclusive && !stragglers_.empty()) return false;
  return std::none_of(slots_.begin(), slots_.end(), [&](const call_slot& other) {
    return other.lives && (s.traits.exclusive || (other.traits.exclusive && !other.result));
  });
}

/// Names the calls for which an exclusive call has waited long enough: they have their result and still run.
std::string turn::never_ending_beside(const call_slot& s) const {
  std::string names;
  if (!s.traits.exclusive) return names;
  for (const auto& x : stragglers_)
    if (!x.deadline) names += (names.empty() ? "" : ", ") + x.name;
  for (const auto& x : slots_)
    if (x.lives && x.result && !x.deadline) names += (names.empty() ? "" : ", ") + x.what.name;
  return names;
}

void turn::start_what_may_start(boot_time now) {
  for (auto& s : slots_) {
    if (s.state != call_state::announced) continue;
    if (s.traits.unusable) {
      answer(s, result_of(s, result_kind::failed, texts_.failed(s.traits.unusable->code, s.traits.unusable->detail)),
             call_state::answered, now);
    } else if (!s.traits.approval_rule.empty() && !s.approved) {
      s.state = call_state::asking;
      out_.push_back(ask_human{number_of(s), s.traits.approval_rule});
    } else if (may_start(s)) {
      s.state = call_state::running;
      s.lives = true;
      s.started = now;
      if (limits_.progress.count() > 0) s.progress = now + limits_.progress;
      if (s.traits.timeout.count() > 0) s.deadline = now + s.traits.timeout;
      out_.push_back(run_tool{number_of(s)});
      if (!s.is_shown) out_.push_back(say_call_started{number_of(s)});
    } else if (const auto living = never_ending_beside(s); !living.empty()) {
      answer(s,
             result_of(s, result_kind::failed,
                       texts_.failed(failure_code::workspace_busy, "not started: still ending: " + living)),
             call_state::answered, now);
    } else {
      break; // the calls behind it wait, too: no call starves
    }
  }
  after_answers(now);
}

void turn::after_answers(boot_time now) {
  if (phase_ == turn_phase::done) return;
  const auto has = [&](call_state what) {
    return std::any_of(slots_.begin(), slots_.end(), [&](const auto& s) { return s.state == what; });
  };
  if (has(call_state::running) || has(call_state::announced)) return;
  if (has(call_state::asking)) return move_to(turn_phase::waiting);
  tool_results results;
  for (auto& s : slots_) {
    results.results.push_back(*s.result);
    older_calls_.push_back({s.what, s.state, s.started, s.ended});
  }
  constexpr std::size_t remembered = 100;
  if (older_calls_.size() > remembered)
    older_calls_.erase(older_calls_.begin(), older_calls_.end() - static_cast<std::ptrdiff_t>(remembered));
  messages_.emplace_back(std::move(results));
  put_slots();
  shorten_old_results();
  move_to(turn_phase::asking);
  ask(now);
}

/// A turn of many rounds with large results must not hold all of them: no request has room for them.
void turn::shorten_old_results() {
  std::size_t bytes = 0;
  bool is_newest = true;
  for (auto entry = messages_.rbegin(); entry != messages_.rend(); ++entry) {
    auto* results = std::get_if<tool_results>(&*entry);
    if (!results) continue;
    for (auto& one : results->results) {
      if (!is_newest && bytes + one.result.size() > limits_.old_result_bytes)
        one.result = texts_.shortened(one.result, one.ok);
      if (!is_newest) bytes += one.result.size();
    }
    is_newest = false;
  }
}

tool_result turn::result_of(const call_slot& s, result_kind how, std::string text) const {
  return {s.what.call, s.what.name, how == result_kind::ok, how == result_kind::cancelled, std::move(text)};
}

void turn::answer(call_slot& s, tool_result what, call_state as, boot_time now) {
  s.state = as;
  s.ended = now;
  warn_of_repetition(s.what, what);
  s.result = what;
  out_.push_back(store_result{number_of(s), what});
  const auto took = s.started ? std::chrono::duration_cast<milliseconds>(now - *s.started) : milliseconds{0};
  out_.push_back(say_result{number_of(s), std::move(what), took});
}

std::vector<turn_effect> turn::tool_ended(call_number number, bool ok, std::string result, boot_time now) {
  std::erase_if(stragglers_, [&](const auto& s) { return s.number == number; });
  if (call_slot* s = slot_of(number)) {
    s->lives = false;
    if (s->state == call_state::running)
      answer(*s, result_of(*s, ok ? result_kind::ok : result_kind::failed, std::move(result)), call_state::answered,
             now);
  }
  if (phase_ == turn_phase::calling || phase_ == turn_phase::waiting) start_what_may_start(now);
  return take();
}

std::vector<turn_effect> turn::call_cancelled(call_number number, tool_result what, boot_time now) {
  call_slot* const s = slot_of(number);
  if (!s || s->result || phase_ == turn_phase::done) return {};
  move_to(turn_phase::calling);
  const bool began = s->state == call_state::running;
  answer(*s, std::move(what), call_state::cancelled, now);
  if (began) {
    out_.push_back(stop_tool{number, false});
    s->deadline = now + limits_.end_timeout;
  }
  start_what_may_start(now);
  return take();
}

/// The input that the model wrote stays in `what`: the guard against repetition counts that.
void turn::take_input(call_slot& s, const std::string& input) const {
  s.traits = traits_({s.what.call, s.what.name, input});
}

std::vector<turn_effect> turn::human_decided(call_number number, approval_outcome how, const std::string& reason,
                                             boot_time now, const std::optional<std::string>& input) {
  call_slot* const found = slot_of(number);
  if (!found || found->state != call_state::asking || phase_ == turn_phase::done) return {};
  move_to(turn_phase::calling);
  call_slot& s = *found;
  if (how == approval_outcome::approved) {
    if (input) take_input(s, *input);
    s.approved = true;
    s.state = call_state::announced;
  } else {
    answer(s, result_of(s, result_kind::failed, texts_.not_approved(how, reason)), call_state::answered, now);
  }
  start_what_may_start(now);
  return take();
}

void turn::call_waits(call_number number, human_wait what, boot_time now) {
  call_slot* const s = slot_of(number);
  if (!s || s->state != call_state::running || phase_ == turn_phase::done) return;
  const bool begins = what == human_wait::begins;
  if (begins)
    s->progress.reset();
  else if (!s->progress && limits_.progress.count() > 0)
    s->progress = now + limits_.progress;
  if (begins && s->deadline) {
    s->left = std::max(*s->deadline - now, std::chrono::nanoseconds{0});
    s->deadline.reset();
  } else if (!begins && s->left) {
    s->deadline = now + *std::exchange(s->left, std::nullopt);
  }
}

std::vector<turn_effect> turn::tick(boot_time now) {
  if (phase_ == turn_phase::done) return {};
  for (auto& s : stragglers_)
    if (s.deadline && *s.deadline <= now) s.deadline.reset();
  for (auto& s : slots_) {
    if (s.state == call_state::running && s.progress && *s.progress <= now) {
      out_.push_back(say_call_progress{number_of(s), std::chrono::duration_cast<milliseconds>(now - *s.started)});
      while (*s.progress <= now) s.progress = *s.progress + limits_.progress;
    }
    if (!s.lives || !s.deadline || *s.deadline > now) continue;
    if (s.state == call_state::running) {
      out_.push_back(say_call_timed_out{number_of(s), s.traits.timeout});
      answer(s, result_of(s, result_kind::failed, texts_.timed_out(s.what.name, s.traits.timeout)),
             call_state::timed_out, now);
      out_.push_back(stop_tool{number_of(s), true});
      s.deadline = now + limits_.end_timeout;
    } else {
      s.deadline.reset();
    }
  }
  if (phase_ == turn_phase::calling) start_what_may_start(now);
  return take();
}

void turn::close_calls(abort_reason why, boot_time now) {
  const bool is_cancel = why != abort_reason::error && why != abort_reason::timeout &&
                         why != abort_reason::interrupted && why != abort_reason::budget;
  for (auto& s : slots_) {
    if (s.result) continue;
    const bool began = s.state == call_state::running;
    const std::string text =
        is_cancel ? (began ? texts_.cancelled() : texts_.not_started())
        : why == abort_reason::budget
            ? texts_.failed(failure_code::budget, began ? "The turn's budget was used up before this call ended."
                                                        : "Tool call was not started: the turn's budget was used up.")
        : why == abort_reason::timeout
            ? texts_.failed(failure_code::timeout, began ? "The turn ran out of its time before this call ended."
                                                         : "Tool call was not started: the turn ran out of its time.")
            : texts_.failed(failure_code::interrupted, began ? "The turn ended before this call did."
                                                             : "The turn ended; this call was not started.");
    answer(s, result_of(s, is_cancel ? result_kind::cancelled : result_kind::failed, text), call_state::cancelled, now);
    if (began) out_.push_back(stop_tool{number_of(s), false});
  }
}

} // namespace quell::actors
