// The transitions of a turn from input to input: asking, streaming, stopping, ending. Its calls are in calls.cpp.
#include "actors/turn/turn.hpp"

#include <algorithm>
#include <stdexcept>

#include "protocol/failure_code.hpp"
#include "protocol/utf8.hpp"

namespace quell::actors {

using namespace turn_effects;

/// A forbidden move is a bug of this turn: it ends its actor, and with it the turn as interrupted, and nothing else.
void turn::move_to(turn_phase next) {
  if (phase_ == next) return;
  if (!may_move(phase_, next))
    throw std::logic_error("forbidden move of a turn: from " +
                           std::string(turn_phase_names[static_cast<std::size_t>(phase_)]) + " to " +
                           std::string(turn_phase_names[static_cast<std::size_t>(next)]));
  phase_ = next;
}

std::vector<turn_effect> turn::begin(conversation so_far, boot_time now) {
  messages_ = std::move(so_far);
  ask(now);
  return take();
}

void turn::ask(boot_time now) {
  (void)now;
  if (limits_.model_calls > 0 && model_calls_ >= limits_.model_calls) {
    finish(abort_reason::error,
           failure_of(failure_code::budget, "the turn asked its model " + std::to_string(model_calls_) +
                                                " times and was still not done; raise the agent's budget, or say more "
                                                "exactly what is wanted"));
    return;
  }
  answer_ = {};
  out_.push_back(ask_model{++model_calls_, messages_});
}

/// To make a call again can be what they want, so the guard begins anew; a restart counts from here, too.
std::vector<user_message> turn::steered(std::vector<user_message> more) {
  if (!more.empty()) repetition_ = repetition_guard(limits_.repetition);
  for (const auto& one : more) messages_.emplace_back(one);
  return more;
}

std::vector<turn_effect> turn::on_model_event(std::uint32_t number, model_event what, boot_time now) {
  if (number != model_calls_ || (phase_ != turn_phase::asking && phase_ != turn_phase::streaming)) return {};
  if (auto* text = std::get_if<model_events::text>(&what)) {
    move_to(turn_phase::streaming);
    const bool begins = answer_.text.empty() && !text_.empty() && !text->delta.empty();
    const std::string piece = begins ? std::string(answer_separator) + text->delta : text->delta;
    out_.push_back(say_text{code_points_, piece});
    code_points_ += code_points(piece);
    text_ += piece;
    answer_.text += text->delta;
    if (answer_.text.size() > limits_.answer_bytes) {
      out_.push_back(hang_up{model_calls_});
      keep_partial_answer(now);
      finish(abort_reason::error, failure_of(failure_code::answer_too_large,
                                             "the model's answer grew beyond " + std::to_string(limits_.answer_bytes) +
                                                 " bytes and was cut; ask for less at a time"));
    }
  } else if (auto* thinking = std::get_if<model_events::thinking>(&what)) {
    move_to(turn_phase::streaming);
    out_.push_back(say_thinking{thought_points_, thinking->delta});
    thought_points_ += code_points(thinking->delta);
  } else if (auto* thought = std::get_if<model_events::thought>(&what)) {
    thought->what.text_before = answer_.text.size();
    thought->what.calls_before = answer_.calls.size();
    answer_.thinking.push_back(std::move(thought->what));
  } else if (auto* call = std::get_if<model_events::call>(&what)) {
    answer_.calls.push_back(std::move(call->what));
  } else if (auto* end = std::get_if<model_events::finished>(&what)) {
    usage_ += end->usage;
    if (!answer_.calls.empty()) {
      // The limit of the answer, or a filter, can cut its last call before the first byte of its input. Nobody knows
      // the input that the model wanted; an empty one would run the tool with its defaults.
      const bool is_whole = end->why == model_events::stop::calls || end->why == model_events::stop::end;
      if (auto& last = answer_.calls.back(); !is_whole && last.input == "{}") last.input = "{";
      take_calls(now);
    } else {
      move_to(turn_phase::streaming);
      if (!answer_.text.empty()) out_.push_back(store_answer{answer_, first_});
      stop_ = end->why;
      finish({}, {});
    }
  } else if (auto* failed = std::get_if<model_events::failed>(&what)) {
    usage_ += failed->usage;
    keep_partial_answer(now);
    finish(abort_reason::error, std::move(failed->why));
  } else if (auto* queued = std::get_if<model_events::queued>(&what)) {
    hear_note(std::move(*queued));
  } else if (auto* admitted = std::get_if<model_events::admitted>(&what)) {
    hear_note(std::move(*admitted));
  } else if (auto* fell_back = std::get_if<model_events::fell_back>(&what)) {
    hear_note(std::move(*fell_back));
  } else if (auto* retrying = std::get_if<model_events::retrying>(&what)) {
    hear_note(std::move(*retrying));
  }
  return take();
}

/// Another attempt thinks anew: what the failed one thought is not sent back.
void turn::hear_note(model_note what) {
  answer_.thinking.clear();
  out_.push_back(say_model_note{std::move(what)});
}

std::vector<turn_effect> turn::stop(abort_reason why, boot_time now) {
  if (phase_ == turn_phase::done) return {};
  if (phase_ == turn_phase::asking || phase_ == turn_phase::streaming) {
    out_.push_back(hang_up{model_calls_});
    keep_partial_answer(now);
  }
  close_calls(why, now);
  finish(why, {});
  return take();
}

std::vector<turn_effect> turn::fail(fault why, boot_time now) {
  if (phase_ == turn_phase::done) return {};
  if (phase_ == turn_phase::asking || phase_ == turn_phase::streaming) {
    out_.push_back(hang_up{model_calls_});
    keep_partial_answer(now);
  }
  close_calls(abort_reason::error, now);
  finish(abort_reason::error, std::move(why));
  return take();
}

/// Keeps the part of the answer that had arrived when the stream was cut: the text, marked, and the complete calls,
/// which never begin.
void turn::keep_partial_answer(boot_time now) {
  (void)now;
  if (answer_.text.empty() && answer_.calls.empty()) return;
  answer_.interrupted = true;
  put_slots();
  for (const auto& c : answer_.calls) slots_.emplace_back(c, tool_traits{});
  out_.push_back(store_answer{answer_, first_});
}

void turn::finish(std::optional<abort_reason> aborted, std::optional<fault> error) {
  phase_ = turn_phase::done;
  out_.push_back(end{aborted, std::move(error), text_, usage_, stop_});
}

std::optional<boot_time> turn::next_tick() const {
  std::optional<boot_time> next;
  if (phase_ == turn_phase::done) return next;
  for (const auto& s : slots_) {
    if (s.lives && s.deadline && (!next || *s.deadline < *next)) next = s.deadline;
    if (s.state == call_state::running && s.progress && (!next || *s.progress < *next)) next = s.progress;
  }
  for (const auto& s : stragglers_)
    if (s.deadline && (!next || *s.deadline < *next)) next = s.deadline;
  return next;
}

std::string turn::current_tool() const {
  for (const auto& s : slots_)
    if (s.state == call_state::running) return s.what.name;
  return {};
}

std::vector<turn::call_view> turn::calls() const {
  std::vector<call_view> all = older_calls_;
  for (const auto& s : slots_) all.push_back({s.what, s.state, s.started, s.ended});
  return all;
}

} // namespace quell::actors
