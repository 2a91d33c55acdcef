// A second pass over a short utterance: was it a word to stop? The free decoder often mishears one ("console that"),
// and a grammar of stop words alone hears one in everything. Three searches are compared by their sounds: the utterance
// is a word to stop only if the free words and the words of a small common vocabulary both sound like it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "integrations/voice/ear/phones.hpp"
#include "integrations/voice/ear/pocket.hpp"

namespace quell::ear {

class second_pass {
 public:
  struct stop {
    std::string words;
    double confidence = 0; ///< above 0.5
  };
  /// `model` as for `make_decoder`.
  explicit second_pass(const std::string& model);
  bool is_ready() const { return decoder_ != nullptr; }
  /// `words`: of the free decoder. nullopt: not a stop, or too long for one.
  std::optional<stop> stop_in(const std::vector<std::int16_t>& samples, const std::string& words);

 private:
  std::string search(const char* name, const std::vector<std::int16_t>& samples);
  phones sound_of(const std::string& words) const;

  decoder decoder_; ///< nullptr: the models cannot be used
};

} // namespace quell::ear
