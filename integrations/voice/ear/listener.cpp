// A silence ends an utterance (pocket.cpp says which); half a minute of speech does, too.
#include "integrations/voice/ear/listener.hpp"

#include <algorithm>
#include <utility>

namespace quell::ear {
namespace {

constexpr std::uint64_t partial_every = 4800;
constexpr std::uint64_t preroll_samples = 8000; ///< speech is detected only after it has begun
/// After so much speech it is detected. Words right after a cancel must not seem to have begun before it.
constexpr std::uint64_t onset_samples = 3200;
constexpr std::size_t most_samples = 30 * 16000;

} // namespace

listener::listener(ps_decoder_t* d, search how, hooks h) : decoder_(d), how_(how), hooks_(std::move(h)) {
  ps_start_utt(decoder_);
}

void listener::hear(const std::int16_t* samples, std::size_t count) {
  ps_process_raw(decoder_, samples, count, FALSE, FALSE);
  received_ += count;
  auto& into = is_in_words_ ? now_.samples : recent_;
  into.insert(into.end(), samples, samples + count);
  if (!is_in_words_ && recent_.size() > 2 * preroll_samples)
    recent_.erase(recent_.begin(), recent_.end() - static_cast<std::ptrdiff_t>(preroll_samples));
  const bool is_speech = ps_get_in_speech(decoder_) != 0;
  if (is_speech && !is_in_words_) begin();
  if (is_in_words_ && (!is_speech || now_.samples.size() >= most_samples)) end();
  if (!is_in_words_ || how_ == search::none || received_ < next_partial_) return;
  next_partial_ = received_ + partial_every;
  auto words = words_of(decoder_);
  if (words.empty() || words == transcript_) return;
  transcript_ = std::move(words);
  hooks_.partial(transcript_, now_.from);
}

void listener::finish() {
  if (is_in_words_) end();
}

void listener::begin() {
  is_in_words_ = true;
  const auto before = std::min<std::uint64_t>({preroll_samples, recent_.size(), received_ - floor_});
  now_.from = std::max(floor_, received_ - std::min(received_, onset_samples));
  now_.samples.assign(recent_.end() - static_cast<std::ptrdiff_t>(before), recent_.end());
  recent_.clear();
  next_partial_ = received_ + partial_every;
}

void listener::end() {
  ps_end_utt(decoder_);
  if (how_ == search::words) {
    now_.words = words_of(decoder_);
    now_.probability = probability_of(decoder_);
  }
  is_in_words_ = false;
  transcript_.clear();
  floor_ = received_;
  ps_start_utt(decoder_);
  hooks_.ended(std::exchange(now_, {}));
}

} // namespace quell::ear
