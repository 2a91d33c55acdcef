// The gateway's side: cancels through every interface, and ends of connections.
#include <algorithm>

#include "integrations/voice/gateway_side.hpp"

namespace quell::integrations::voice {

namespace does = gateway_effects;

/// Discards what was recognised so far. A recogniser that does not report where a transcript begins still owes one
/// final transcript, if it has begun one.
void gateway_side::discard_utterance() {
  const bool is_hearing =
      std::any_of(live_.begin(), live_.end(), [](const exchange& e) { return e.phase == phase::hearing; });
  is_discarding_ = is_discarding_ || is_hearing;
  if (samples_ > cut_) end_speech();
  cut_ = samples_;
}

void gateway_side::cancel_all() {
  effect(does::to_brain{{tag::brain_cancel}});
  discard_utterance();
  is_brain_late_ = true;
  rest();
  drop_held(std::nullopt); // also of exchanges that have ended: the client has heard nothing of them
  std::vector<exchange_number> all;
  for (auto& e : live_) {
    silence(e);
    all.push_back(e.n);
    effect(does::cancel{e.n});
  }
  live_.clear();
  for (const auto n : std::exchange(finishing_, {})) {
    all.push_back(n);
    effect(does::cancel{n});
  }
  owed_.push_back(std::move(all));
  tell_cancelled();
}

void gateway_side::fenced(exchange_number n) {
  if (is_over_) return;
  for (auto& one : owed_) std::erase(one, n);
  tell_cancelled();
}

void gateway_side::ended(exchange_number n) {
  std::erase(finishing_, n);
  fenced(n);
  if (!is_over_) ask_next();
}

/// Sends one `cancelled` for each 07, in order, then the frames that waited behind them.
void gateway_side::tell_cancelled() {
  while (!owed_.empty() && owed_.front().empty()) {
    owed_.pop_front();
    show_at_once(tag::notice, std::string(cancelled_notice));
  }
  if (!owed_.empty()) return;
  for (auto& h : std::exchange(held_, {})) effect(does::to_client{std::move(h.what)});
}

/// A brain has one exchange at a time: it is notified if that is the cancelled one, or if it has none.
void gateway_side::stopped(exchange_number n) {
  if (is_over_) return;
  const auto at = find(n);
  const bool is_live = at != live_.end();
  if (std::erase(finishing_, n) == 0 && !is_live) return fenced(n); // a 07 came before, perhaps waiting for this
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
  is_over_ = true;
  if (!live_.empty()) effect(does::to_brain{{tag::brain_cancel}});
  for (auto& e : live_) {
    if (e.open) effect(does::hush{*e.open});
    effect(does::leave{e.n});
  }
  live_.clear();
}

void gateway_side::broken(const fault& why) {
  if (is_over_) return;
  show_at_once(tag::error, error_json(why.code, why.detail));
  client_gone();
  effect(does::close{});
}

void gateway_side::brain_gone(const std::string& why) {
  if (is_over_) return;
  is_over_ = true;
  for (auto& e : live_) {
    silence(e);
    effect(does::finish{e.n, e.transcript, e.was_spoken, why});
  }
  live_.clear();
  show_at_once(tag::error, error_json("no_brain", why));
  effect(does::close{});
}

} // namespace quell::integrations::voice
