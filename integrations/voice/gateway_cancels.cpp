// The gateway's side: cancels through every interface, and ends of connections.
#include <algorithm>

#include "integrations/voice/gateway_side.hpp"

namespace quell::integrations::voice {

namespace does = gateway_effects;

void gateway_side::cancel_all() {
  effect(does::to_brain{{tag::brain_cancel}});
  discard_utterance();
  is_brain_late_ = true;
  is_talked_over_ = false;
  rest();
  drop_held(std::nullopt);
  owed_notice due;
  // Nothing else is there to cancel, or its end is on its way and can have come first: the answer is taken back.
  const auto past = std::exchange(last_answered_, std::nullopt);
  if (past && (live_.empty() || std::find(finishing_.begin(), finishing_.end(), *past) != finishing_.end()))
    due.unmarked = past;
  for (auto& e : live_) {
    silence(e);
    due.unfenced.push_back(e.n);
    effect(does::cancel{e.n});
  }
  live_.clear();
  for (const auto n : std::exchange(finishing_, {})) {
    due.unfenced.push_back(n);
    effect(does::cancel{n});
  }
  if (due.unmarked) effect(does::retract{*due.unmarked});
  owed_.push_back(std::move(due));
  tell_cancelled();
}

void gateway_side::fenced(exchange_number n) {
  if (is_finished_) return;
  for (auto& one : owed_) std::erase(one.unfenced, n);
  tell_cancelled();
}

void gateway_side::retracted(exchange_number n) {
  if (is_finished_) return;
  for (auto& one : owed_)
    if (one.unmarked == n) one.unmarked.reset();
  tell_cancelled();
}

void gateway_side::ended(exchange_number n) {
  std::erase(finishing_, n);
  fenced(n);
  if (!is_over_) ask_next();
}

/// Sends one `cancelled` for each 07, in order, then the frames that waited behind them.
void gateway_side::tell_cancelled() {
  while (!owed_.empty() && owed_.front().is_due()) {
    owed_.pop_front();
    show_at_once(tag::notice, std::string(cancelled_notice));
  }
  if (!owed_.empty()) return;
  release_held();
  if (is_over_) take_leave();
}

/// The audible part of the frames that leave now is heard from now on.
void gateway_side::release_held() {
  for (const auto& e : live_) {
    const auto samples = e.is_audible() ? held_samples(e.n) : 0;
    if (samples > 0) effect(does::delay{e.open ? *e.open : *e.sounds, samples});
  }
  for (auto& h : std::exchange(held_, {})) effect(does::to_client{std::move(h.what)});
}

std::size_t gateway_side::held_samples(exchange_number n) const {
  std::size_t samples = 0;
  for (const auto& h : held_)
    if (h.n == n && h.what.tag == tag::speech) samples += h.what.payload.size() / 2;
  return samples;
}

/// A brain has one exchange at a time: it is notified if that is the cancelled one, or if it has none.
void gateway_side::stopped(exchange_number n) {
  if (is_over_) return fenced(n);
  const auto at = find(n);
  const bool is_live = at != live_.end();
  if (std::erase(finishing_, n) == 0 && !is_live) return fenced(n); // a 07 came before, perhaps waiting for this
  if (last_answered_ == n) last_answered_.reset();
  if (is_live && at->phase == phase::hearing) discard_utterance();
  const auto other = at_brain();
  if (other == live_.end() || other == at) {
    effect(does::to_brain{{tag::brain_cancel}});
    is_brain_late_ = true;
    rest();
  }
  drop_held(n);
  if (is_live) {
    silence(*at);
    live_.erase(at);
  }
  show(tag::notice, std::string(stopped_notice));
  ask_next();
  speak_next();
}

void gateway_side::client_gone() {
  if (is_over_) return;
  leave_all();
  part({});
}

/// The client's own exchanges end without it, and each answer of theirs that was accepted has its 84.
void gateway_side::leave_all() {
  end_handed_over();
  if (!live_.empty()) effect(does::to_brain{{tag::brain_cancel}});
  for (auto& e : live_) {
    silence(e);
    effect(does::leave{e.n});
  }
  live_.clear();
}

/// The client has all of these answers, and can play them to their ends without us. One whose frames wait behind a
/// `cancelled` has not reached it.
void gateway_side::end_handed_over() {
  std::erase_if(live_, [this](const exchange& e) {
    if (!e.is_handed_over() || held_samples(e.n) > 0) return false;
    effect(does::finish{e.n, e.transcript, e.was_spoken, {}});
    return true;
  });
}

void gateway_side::broken(const fault& why) {
  if (is_over_) return;
  leave_all();
  part(frame{tag::error, error_json(why.code, why.detail)});
}

void gateway_side::shut_down(const fault& why) {
  if (is_over_) return;
  end_handed_over();
  for (auto& e : live_) silence(e);
  live_.clear();
  part(frame{tag::error, error_json(why.code, why.detail)});
}

void gateway_side::brain_gone(const std::string& why) {
  if (is_over_) return;
  end_handed_over();
  for (auto& e : live_) {
    silence(e);
    effect(does::finish{e.n, e.transcript, e.was_spoken, why});
  }
  live_.clear();
  part(frame{tag::error, error_json("no_brain", why)});
}

/// Nothing more is taken. Every 07 that was taken is answered first, as soon as its cancel is fenced.
void gateway_side::part(std::optional<frame> farewell) {
  is_over_ = true;
  farewell_ = std::move(farewell);
  drop_held(std::nullopt);
  if (owed_.empty()) return take_leave();
  effect(does::await_answers{});
}

void gateway_side::take_leave() {
  is_finished_ = true;
  if (farewell_) effect(does::to_client{std::move(*farewell_)});
  effect(does::close{});
}

void gateway_side::waited() {
  if (!is_over_ || is_finished_) return;
  owed_.clear();
  held_.clear();
  take_leave();
}

} // namespace quell::integrations::voice
