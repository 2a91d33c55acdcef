// A turn goes on after a restart of its process, from what is stored: its answers, the results of its calls, and what
// its calls had come to. Nothing that was done is done again; what was under way at the model is asked again.
#include <algorithm>

#include "actors/turn/turn.hpp"
#include "protocol/utf8.hpp"

namespace quell::actors {

using namespace turn_effects;

std::vector<turn_effect> turn::resume(conversation so_far, const std::vector<tool_result>& known, turn_past past,
                                      boot_time now) {
  messages_ = std::move(so_far);
  model_calls_ = past.model_calls;
  tool_calls_ = past.tool_calls;
  usage_ = past.usage;
  text_ = std::move(past.text);
  code_points_ = code_points(text_);
  thought_points_ = past.thought_points;
  if (!past.unsaid.empty()) out_.push_back(say_text{code_points_ - code_points(past.unsaid), past.unsaid});
  const auto* last = messages_.empty() ? nullptr : std::get_if<assistant_message>(&messages_.back());
  if (last) {
    answer_ = *last;
    model_calls_ = std::max<std::uint32_t>(model_calls_, 1);
  }
  recall_calls();
  shorten_old_results();
  if (last) move_to(last->calls.empty() ? turn_phase::streaming : turn_phase::calling);
  const tool_call* repeated = nullptr;
  for (const auto& c : answer_.calls)
    if (repeated == nullptr && repetition_.is_too_often(c)) repeated = &c;
  for (const auto& c : answer_.calls) {
    const auto result = std::find_if(known.begin(), known.end(), [&](const auto& r) { return r.call == c.call; });
    slots_.emplace_back(c, traits_(c));
    if (result == known.end()) continue;
    slots_.back().result = *result;
    if (!result->cancelled) repetition_.note_past(c, result->result);
    slots_.back().state = result->cancelled ? call_state::cancelled : call_state::answered;
    if (std::find(past.unshown.begin(), past.unshown.end(), c.call) != past.unshown.end())
      out_.push_back(say_result{number_of(slots_.back()), *result, milliseconds{0}});
  }
  if (past.was_cut) {
    close_calls(abort_reason::interrupted, now);
    finish(abort_reason::interrupted,
           failure_of(failure_code::interrupted, "the controller was restarted while the turn was failing"));
  } else if (!last) {
    ask(now);
  } else if (answer_.calls.empty()) {
    finish({}, {});
  } else if (!refuse_calls(repeated, now)) {
    for (const auto& met : past.met)
      for (auto& s : slots_)
        if (s.what.call == met.call && !s.result) go_on_with(s, met, now);
    start_what_may_start(now);
  }
  return take();
}

/// The calls of this turn that have their results, but those of its last answer.
void turn::recall_calls() {
  auto own = std::find_if(messages_.rbegin(), messages_.rend(), [](const auto& entry) {
               return std::holds_alternative<user_message>(entry);
             }).base();
  const assistant_message* answer = nullptr;
  for (; own != messages_.end(); ++own) {
    if (const auto* stated = std::get_if<assistant_message>(&*own)) answer = stated;
    const auto* results = std::get_if<tool_results>(&*own);
    if (!results || !answer) continue;
    for (std::size_t i = 0; i < results->results.size() && i < answer->calls.size(); ++i)
      if (const auto& r = results->results[i]; !r.cancelled) repetition_.note_past(answer->calls[i], r.result);
  }
}

void turn::go_on_with(call_slot& s, const met_call& met, boot_time now) {
  s.is_shown = met.is_shown;
  if (met.at == met_call::state::asking) {
    if (s.traits.approval_rule.empty()) s.traits.approval_rule = s.what.name; // the rule is gone, the question is not
    return;
  }
  if (met.input) take_input(s, *met.input);
  s.approved = true;
  if (met.at == met_call::state::begun) return;
  s.state = call_state::running;
  s.lives = true;
  s.started = met.started.value_or(now);
  if (limits_.progress.count() > 0) s.progress = now + limits_.progress;
  // Its time went on; but its end can have waited for this process.
  if (s.traits.timeout.count() > 0) s.deadline = std::max(*s.started + s.traits.timeout, now + limits_.least_time_left);
  out_.push_back(run_tool{number_of(s)});
  if (!s.is_shown) out_.push_back(say_call_started{number_of(s)});
}

} // namespace quell::actors
