// Cuts a stream of samples into utterances: voice activity detection by pocketsphinx. Samples are i16, 16 kHz, mono.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "integrations/voice/ear/pocket.hpp"

namespace quell::ear {

enum class search : std::uint8_t {
  words, ///< the decoder also recognises
  none   ///< it only tells speech from silence; a keyphrase search is the cheapest with which it does
};

struct utterance {
  std::uint64_t from = 0; ///< about its first word, counted in samples from the start; `samples` begin earlier
  std::vector<std::int16_t> samples;
  std::string words;                   ///< of the decoder, if it searches
  std::optional<double> probability{}; ///< of the words
};

class listener {
 public:
  struct hooks {
    std::function<void(const std::string& words, std::uint64_t from)> partial; ///< without a confidence
    std::function<void(utterance)> ended;
  };
  /// `d` must outlive it.
  listener(ps_decoder_t* d, search how, hooks h);

  void hear(const std::int16_t* samples, std::size_t count);
  /// The input has ended.
  void finish();

 private:
  void begin();
  void end();

  ps_decoder_t* decoder_;
  const search how_;
  const hooks hooks_;
  std::uint64_t received_ = 0, floor_ = 0, next_partial_ = 0;
  bool is_in_words_ = false;
  utterance now_;
  std::vector<std::int16_t> recent_; ///< before words are detected
  std::string transcript_;
};

} // namespace quell::ear
