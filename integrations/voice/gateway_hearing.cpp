// The gateway's side: audio on its way to the recogniser, and transcripts on their way back.
//
// A cancel discards all words that were said before it. A recogniser that reports `from` says which these are. Without
// `from` the order decides: a final transcript that comes before any audio behind the cancel is older than the cancel,
// and so is the next one if the recogniser still owed it, because it had begun a transcript or had got sound since its
// last final one. So one utterance behind a cancel is lost if the recogniser never reports the sound before it; the
// client is told that nothing was recognised.
#include <algorithm>

#include "integrations/voice/gateway_side.hpp"

namespace quell::integrations::voice {

namespace does = gateway_effects;

namespace {

/// Words peak far above this (1/64 of the full scale), the noise of a room below it.
constexpr int least_of_words = 512;

bool has_sound(std::string_view samples) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(samples[at])); };
  for (std::size_t i = 0; i + 1 < samples.size(); i += 2) {
    const int sample = static_cast<std::int16_t>(byte(i) | (byte(i + 1) << 8U));
    if (sample >= least_of_words || sample <= -least_of_words) return true;
  }
  return false;
}

} // namespace

void gateway_side::hear(const std::string& samples) {
  samples_ += samples.size() / 2;
  is_ended_ = is_silent_since_cut_ = false;
  owes_final_ = owes_final_ || has_sound(samples);
  if (discards_ == discarding::until_audio) discards_ = discarding::nothing;
  effect(does::hear{samples});
}

/// Once behind each stretch of audio: a second silence would end nothing else.
void gateway_side::end_speech() {
  if (std::exchange(is_ended_, true)) return;
  samples_ += pause_samples;
  effect(does::end_of_speech{});
}

void gateway_side::recogniser_begins(std::size_t samples) {
  samples_ = samples;
  cut_ = 0;
  finals_owed_ = 0;
  discards_ = discarding::nothing;
}

void gateway_side::audio_left_out(std::size_t samples) {
  samples_ -= std::min<std::uint64_t>(samples, samples_);
  cut_ = std::min(cut_, samples_);
}

void gateway_side::discard_utterance() {
  constexpr unsigned most_finals_owed = 8; // a client can cancel and send sound without end
  const bool is_hearing =
      std::any_of(live_.begin(), live_.end(), [](const exchange& e) { return e.phase == phase::hearing; });
  if (is_hearing || owes_final_) finals_owed_ = std::min(finals_owed_ + 1, most_finals_owed);
  discards_ = finals_owed_ > 0 ? discarding::until_final : discarding::until_audio;
  owes_final_ = false; // of what is said from here on
  is_silent_since_cut_ = true;
  end_speech();
  cut_ = samples_;
}

void gateway_side::final_discarded() {
  if (finals_owed_ > 0) --finals_owed_;
  if (finals_owed_ == 0) owes_no_more();
}

/// The recogniser has reported everything that was said before the last cancel, or never will. Text that it reports
/// without having got audio since that cancel is older all the same.
void gateway_side::owes_no_more() {
  finals_owed_ = 0;
  if (discards_ != discarding::nothing)
    discards_ = is_silent_since_cut_ ? discarding::until_audio : discarding::nothing;
}

bool gateway_side::on_recognised(const recognised& what) {
  if (is_over_) return false;
  if (what.from ? *what.from < cut_ : discards_ != discarding::nothing) {
    if (what.is_final) final_discarded();
    return false;
  }
  if (what.is_final) {
    owes_final_ = false;
    owes_no_more();
  }
  auto at = std::find_if(live_.begin(), live_.end(), [](const exchange& e) { return e.phase == phase::hearing; });
  if (what.text.empty()) {
    if (what.is_final) on_nothing_recognised();
    return true;
  }
  if (at == live_.end()) {
    const auto waiting = std::count_if(live_.begin(), live_.end(), [](const exchange& e) {
      return e.phase == phase::waiting || e.phase == phase::judging;
    });
    if (static_cast<std::size_t>(waiting) >= most_waiting_exchanges) {
      show(tag::notice, "too many messages wait for an answer; this one is left out");
      return true;
    }
    begin_one(phase::hearing);
    at = std::prev(live_.end());
  }
  if (!what.is_final) {
    show(tag::notice, prefixed(hearing_prefix, what.text));
    return true;
  }
  at->transcript = what.text;
  at->phase = phase::judging;
  const auto n = at->n;
  show(tag::text, prefixed(you_prefix, what.text));
  effect(does::decide_speech{n, what.text, what.confidence});
  return true;
}

void gateway_side::on_nothing_recognised() {
  if (is_over_) return;
  const auto at = std::find_if(live_.begin(), live_.end(), [](const exchange& e) { return e.phase == phase::hearing; });
  show(tag::notice, std::string(nothing_recognised_notice));
  if (at != live_.end()) finish(at);
}

void gateway_side::words_overdue() {
  if (is_over_) return;
  owes_final_ = false;
  owes_no_more();
  if (!is_silent_since_cut_) on_nothing_recognised(); // otherwise all that was said is cancelled
}

} // namespace quell::integrations::voice
