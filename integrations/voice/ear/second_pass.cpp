// Two grammars in one decoder, over the whole utterance at once. The limits were fitted to four of the seven voices of
// benchmarks/voice_stops.py; docs/voice.md has the figures for those and for the others.
#include "integrations/voice/ear/second_pass.hpp"

#include <algorithm>
#include <sstream>

#include "integrations/voice/ear/common_words.hpp"

namespace quell::ear {

namespace {

constexpr std::size_t longest_stop = 3 * 16000; ///< samples, with the silence around it
constexpr double free_limit = 0.2, common_limit = 0.6;

const std::string stop_phrases = "[ okay | oh | actually | just | please | yeah | hey ] "
                                 "( stop | cancel | never mind | forget it | abort | quit ) "
                                 "[ it | that | this | please | now ]";

std::string grammar_of_stops() { return "#JSGF V1.0; grammar stops; public <s> = " + stop_phrases + ";"; }

/// A stop, or any row of common words.
std::string grammar_of_words() {
  std::string words;
  std::istringstream all{std::string(common_words)};
  for (std::string word; all >> word;) words += (words.empty() ? "" : " | ") + word;
  return "#JSGF V1.0; grammar words; public <s> = /0.5/ " + stop_phrases + " | /0.5/ ( " + words + " )+;";
}

} // namespace

second_pass::second_pass(const std::string& model)
    : decoder_(make_decoder(model, {"-cmn", "batch", "-beam", "1e-60", "-wbeam", "1e-40"})) {
  if (!decoder_) return;
  const bool has_both = ps_set_jsgf_string(decoder_.get(), "stops", grammar_of_stops().c_str()) == 0 &&
                        ps_set_jsgf_string(decoder_.get(), "words", grammar_of_words().c_str()) == 0;
  if (!has_both) decoder_.reset();
}

std::string second_pass::search(const char* name, const std::vector<std::int16_t>& samples) {
  ps_set_search(decoder_.get(), name);
  ps_start_utt(decoder_.get());
  ps_process_raw(decoder_.get(), samples.data(), samples.size(), FALSE, TRUE);
  ps_end_utt(decoder_.get());
  return words_of(decoder_.get());
}

phones second_pass::sound_of(const std::string& words) const {
  phones all;
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    std::istringstream answer_json(pronunciation_of(decoder_.get(), word));
    for (std::string phone; answer_json >> phone;) all.push_back(phone);
  }
  return all;
}

std::optional<second_pass::stop> second_pass::stop_in(const std::vector<std::int16_t>& samples,
                                                      const std::string& words) {
  if (!decoder_ || samples.size() > longest_stop || words.empty()) return std::nullopt;
  const auto phrase = search("stops", samples);
  if (phrase.empty()) return std::nullopt;
  const auto wanted = sound_of(phrase);
  const auto by_free = phone_distance(sound_of(words), wanted);
  if (by_free > free_limit) return std::nullopt;
  if (by_free == 0) return stop{phrase, 1};
  const auto by_common = phone_distance(sound_of(search("words", samples)), wanted);
  if (by_common > common_limit) return std::nullopt;
  return stop{phrase, 1 - (by_free + by_common) / 2};
}

} // namespace quell::ear
