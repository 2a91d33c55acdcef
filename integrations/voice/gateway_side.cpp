// Answers and speech. Utterances: gateway_hearing.cpp; cancels: gateway_cancels.cpp
#include "integrations/voice/gateway_side.hpp"

#include <algorithm>

namespace quell::integrations::voice {

namespace does = gateway_effects;

void gateway_side::show(tag t, std::string payload, exchange_number n) {
  if (owed_.empty())
    show_at_once(t, std::move(payload));
  else
    held_.push_back({n, {t, std::move(payload)}});
}

/// A cancel is fenced within moments, but a store that stands still must not fill the memory with words.
void gateway_side::show_of_brain(tag t, std::string payload, exchange_number n) {
  std::size_t count = 0, bytes = payload.size();
  for (const auto& h : held_) {
    if (h.what.tag == tag::speech) continue; // paced by the clock
    ++count;
    bytes += h.what.payload.size();
  }
  if (count >= most_held_frames || bytes > most_held_bytes)
    return effect(does::refuse_brain{
        {"too_many_frames", "more than 256 frames or 1 MiB of them wait behind a cancel; send them more slowly", {}}});
  show(t, std::move(payload), n);
}

/// Drops the waiting frames of an answer, or of all. Its ends of speech leave at once: behind `cancelled`
/// the client would take them for those of a newer answer.
void gateway_side::drop_held(std::optional<exchange_number> n) {
  std::erase_if(held_, [&](const held_frame& h) {
    if (h.n == 0 || (n && h.n != *n)) return false;
    if (h.what.tag == tag::speech_end) show_at_once(tag::speech_end);
    return true;
  });
}

void gateway_side::show_at_once(tag t, std::string payload) { effect(does::to_client{{t, std::move(payload)}}); }

gateway_side::place gateway_side::find(exchange_number n) {
  return std::find_if(live_.begin(), live_.end(), [n](const exchange& e) { return e.n == n; });
}

gateway_side::place gateway_side::at_brain() {
  return std::find_if(live_.begin(), live_.end(), [](const exchange& e) { return e.is_brains; });
}

gateway_side::place gateway_side::unasked() {
  return std::find_if(live_.begin(), live_.end(),
                      [](const exchange& e) { return e.is_unasked && e.phase == phase::answering; });
}

bool gateway_side::has_room_for(const std::string& answer) const {
  std::size_t count = 0, bytes = answer.size();
  for (const auto& e : live_) {
    count += e.answers.size();
    for (const auto& waits : e.answers) bytes += waits.text.size();
  }
  return count < most_waiting_answers && bytes <= most_waiting_answer_bytes;
}

std::optional<speech_number> gateway_side::speaking() const {
  for (const auto& e : live_)
    if (e.open) return e.open;
  return std::nullopt;
}

bool gateway_side::is_audible(speech_number speech) const {
  return std::any_of(live_.begin(), live_.end(),
                     [&](const exchange& e) { return e.open == speech || e.sounds == speech; });
}

std::optional<exchange_number> gateway_side::open_exchange() const {
  for (const auto& e : live_)
    if (e.is_brains) return e.n;
  return std::nullopt;
}

std::optional<exchange_number> gateway_side::answered_exchange() const {
  for (const auto& e : live_)
    if (e.is_brains && (e.phase == phase::questioned || e.phase == phase::answering)) return e.n;
  return std::nullopt;
}

gateway_side::exchange& gateway_side::begin_one(phase as) {
  live_.push_back({++last_, as});
  effect(does::begin{last_});
  return live_.back();
}

void gateway_side::on_client_message(const frame& f) {
  if (is_over_) return;
  if (f.tag != tag::cancel) settle_interrupted();
  switch (f.tag) {
  case tag::audio:
    return hear(f.payload);
  case tag::pause:
    return end_speech();
  case tag::interrupt_speech:
    return interrupt();
  case tag::choice:
    return choose(choice_in(f.payload));
  case tag::summary_request:
    return effect(does::to_brain{{tag::brain_summary_request}});
  case tag::cancel:
    return cancel_all();
  case tag::hello:
    return broken({"bad_order", "a hello is the first frame, or there is none", {}});
  default: // 03, and tags that a client cannot send
    return;
  }
}

void gateway_side::on_brain_message(const frame& f) {
  if (is_over_) return;
  switch (f.tag) {
  case tag::answer:
    return answered(f);
  case tag::question: {
    const auto at = at_brain();
    if (is_brain_late_ || at == live_.end() || (at->phase != phase::requested && at->phase != phase::questioned))
      return;
    at->phase = phase::questioned;
    return show_of_brain(tag::feedback, f.payload, at->n);
  }
  case tag::brain_summary:
    return show_of_brain(tag::summary, f.payload);
  case tag::brain_notice:
    return show_of_brain(tag::notice, prefixed(brain_prefix, f.payload));
  case tag::session_end:
    return brain_gone("the brain has ended the session");
  default: // a cancel that comes from a brain means nothing
    return;
  }
}

/// An answer that nobody asked for becomes an exchange too, so that it can be cancelled; those that come until it has
/// been heard belong to it.
void gateway_side::answered(const frame& f) {
  if (is_brain_late_) return;
  if (is_talked_over_) {
    expect_remainder();
    return end_unspoken(1);
  }
  auto at = at_brain();
  if (at == live_.end()) at = unasked();
  if (!has_room_for(f.payload))
    return effect(
        does::refuse_brain{{"too_many_answers",
                            "more than 256 answers (A1) or 1 MiB of them wait to be spoken; send them more slowly",
                            {}}});
  if (at == live_.end()) {
    begin_one(phase::answering).is_unasked = true;
    at = std::prev(live_.end());
  }
  at->answers.push_back(read_speed(f.payload));
  if (at->phase == phase::questioned) return; // nothing is spoken until the user chooses
  at->phase = phase::answering;
  speak_next();
}

void gateway_side::say(const std::string& text) {
  if (is_over_) return;
  begin_one(phase::answering).answers.push_back({text, 1.0});
  speak_next();
}

void gateway_side::tell(const std::string& notice) {
  if (!is_over_) show(tag::notice, notice);
}

void gateway_side::on_verdict(exchange_number n, verdict what) {
  const auto at = find(n);
  if (is_over_ || at == live_.end() || at->phase != phase::judging) return;
  switch (what) {
  case verdict::passes:
    at->phase = phase::waiting;
    return ask_next();
  case verdict::answers:
    show(tag::notice, "taken as the answer to the question");
    return finish(at);
  case verdict::stops:
    live_.erase(at);
    return show(tag::notice, "stopping");
  case verdict::ignored:
    show(tag::notice, std::string(nothing_recognised_notice) + " with enough confidence");
    return finish(at);
  }
}

void gateway_side::refused(exchange_number n, const std::string& why) {
  if (is_over_) return fenced(n);
  if (std::erase(finishing_, n) > 0) show(tag::notice, why);
  const auto at = find(n);
  if (at == live_.end()) return ended(n);
  silence(*at);
  const bool was_brains = at->is_brains;
  live_.erase(at);
  show(tag::notice, why);
  if (was_brains) is_brain_late_ = true;
  ask_next();
  speak_next();
}

void gateway_side::failed(exchange_number n, const std::string& why) {
  const auto at = find(n);
  if (is_over_ || at == live_.end()) return;
  show(tag::notice, why);
  finish(at, why);
}

void gateway_side::ask_next() {
  if (resting_ > 0 || !finishing_.empty() || at_brain() != live_.end()) return;
  const auto next =
      std::find_if(live_.begin(), live_.end(), [](const exchange& e) { return e.phase == phase::waiting; });
  if (next == live_.end()) return;
  next->phase = phase::requested;
  next->is_brains = true;
  last_answered_.reset();
  is_brain_late_ = is_talked_over_ = false;
  effect(does::to_brain{{tag::transcript, next->transcript}});
}

/// Starts the oldest waiting speech; only one plays at a time.
void gateway_side::speak_next() {
  if (speaking()) return;
  const auto next = std::find_if(live_.begin(), live_.end(),
                                 [](const exchange& e) { return e.phase == phase::answering && !e.answers.empty(); });
  if (next == live_.end()) return;
  auto words = std::move(next->answers.front());
  next->answers.pop_front();
  next->open = ++last_speech_;
  show(tag::text, prefixed(ai_prefix, words.text), next->n);
  effect(does::speak{next->n, last_speech_, std::move(words.text), words.speed});
}

void gateway_side::chunk(speech_number speech, std::string_view samples) {
  if (is_over_ || speaking() != speech) return;
  const auto n = std::find_if(live_.begin(), live_.end(), [](const exchange& e) { return e.open.has_value(); })->n;
  for (; !samples.empty(); samples.remove_prefix(std::min(samples.size(), most_speech_bytes)))
    show(tag::speech, std::string(samples.substr(0, most_speech_bytes)), n);
}

void gateway_side::speech_over(speech_number speech, const std::string& failure) {
  if (is_over_ || speaking() != speech) return;
  const auto at = std::find_if(live_.begin(), live_.end(), [](const exchange& e) { return e.open.has_value(); });
  at->open.reset();
  at->sounds = speech;
  at->was_spoken = failure.empty();
  show(tag::speech_end, {}, at->n);
  for (; ends_due_ > 0; --ends_due_) show(tag::speech_end, {}, at->n);
  if (!failure.empty()) show(tag::notice, "this could not be spoken: " + failure);
  speak_next();
}

/// While samples of it wait behind a `cancelled`, the client has not heard them: `delay` follows when they leave, and
/// then another `speech_played`.
void gateway_side::speech_played(speech_number speech) {
  const auto at = std::find_if(live_.begin(), live_.end(), [&](const exchange& e) { return e.sounds == speech; });
  if (is_over_ || at == live_.end() || held_samples(at->n) > 0) return;
  const bool is_last = at->is_handed_over();
  at->sounds.reset();
  if (!is_last) return;
  finish(at);
  speak_next();
}

/// The caller writes the exchange's last row, and lets the children end first. A waiting request is asked once that row
/// says how it ended.
void gateway_side::finish(place at, const std::string& failure) {
  silence(*at);
  if (at->is_brains && (at->phase == phase::answering || at->phase == phase::interrupted)) last_answered_ = at->n;
  finishing_.push_back(at->n);
  effect(does::finish{at->n, at->transcript, at->was_spoken, failure});
  live_.erase(at);
}

/// Sends exactly one 84 for every answer that was accepted, spoken or not. While another exchange is spoken, the client
/// would take it for the end of that speech: then it follows that end. A speech that was handed over has had its 84.
void gateway_side::silence(exchange& e) {
  const auto unspoken = std::exchange(e.answers, {}).size();
  if (e.sounds) {
    drop_held(e.n);
    effect(does::hush{*e.sounds});
    e.sounds.reset();
    e.was_spoken = false;
  }
  if (e.open) {
    drop_held(e.n);
    effect(does::hush{*e.open});
    show_at_once(tag::speech_end);
    e.open.reset();
  }
  end_unspoken(unspoken);
}

void gateway_side::end_unspoken(std::size_t answers) {
  ends_due_ += static_cast<unsigned>(answers);
  if (speaking()) return;
  for (; ends_due_ > 0; --ends_due_) show_at_once(tag::speech_end);
}

void gateway_side::expect_remainder() {
  is_talked_over_ = true;
  effect(does::await_remainder{});
}

/// The user speaks over the answer: that speech ends, and nothing else does. Two can be audible: the end of one, and
/// the next one behind it, which the client throws away with it.
void gateway_side::interrupt() {
  for (auto& e : live_) {
    if (!e.is_audible()) continue;
    silence(e);
    e.phase = phase::interrupted;
    effect(does::linger{e.n});
    if (e.is_brains || e.is_unasked) expect_remainder();
  }
}

void gateway_side::settle_interrupted() {
  const auto next = [this] {
    return std::find_if(live_.begin(), live_.end(), [](const exchange& e) { return e.phase == phase::interrupted; });
  };
  bool was_any = false;
  for (auto at = next(); at != live_.end(); at = next(), was_any = true) finish(at);
  if (was_any) speak_next();
}

void gateway_side::lingered(exchange_number n) {
  const auto at = find(n);
  if (!is_over_ && at != live_.end() && at->phase == phase::interrupted) settle_interrupted();
}

void gateway_side::choose(user_choice what) {
  const auto at = at_brain();
  if (at == live_.end() || at->phase != phase::questioned) return; // no choice is open: a late key
  effect(does::to_brain{{tag::brain_choice, payload_of(what)}});
  if (what == user_choice::go_on) {
    at->phase = at->answers.empty() ? phase::requested : phase::answering;
    return speak_next();
  }
  is_brain_late_ = true;
  rest();
  finish(at);
}

void gateway_side::rest() {
  ++resting_;
  effect(does::rest{});
}

void gateway_side::rested() {
  if (resting_ > 0) --resting_;
  if (!is_over_) ask_next();
}

} // namespace quell::integrations::voice
