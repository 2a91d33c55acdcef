// Arguments and hypotheses of pocketsphinx.
#include "integrations/voice/ear/pocket.hpp"

#include <sphinxbase/ckd_alloc.h>
#include <sphinxbase/cmd_ln.h>

#include <algorithm>
#include <string_view>

namespace quell::ear {

decoder make_decoder(const std::string& model, const std::vector<std::string>& more) {
  // A silence of 30 frames, 0.3 s, ends an utterance.
  std::vector<std::string> words = {"quell-ear",       "-hmm", model + "/en-us", "-dict", model + "/cmudict-en-us.dict",
                                    "-vad_postspeech", "30"};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  cmd_ln_t* given =
      cmd_ln_parse_r(nullptr, ps_args(), static_cast<std::int32_t>(pointers.size()), pointers.data(), TRUE);
  if (!given) return nullptr;
  decoder made(ps_init(given));
  cmd_ln_free_r(given);
  return made;
}

std::string pronunciation_of(ps_decoder_t* d, const std::string& word) {
  char* answer_json = ps_lookup_word(d, word.c_str());
  std::string text = answer_json ? answer_json : "";
  ckd_free(answer_json);
  return text;
}

std::optional<double> probability_of(ps_decoder_t* d) {
  double sum = 0;
  int count = 0;
  for (auto* s = ps_seg_iter(d); s; s = ps_seg_next(s)) {
    const std::string_view word = ps_seg_word(s);
    if (word.starts_with('<') || word.starts_with('[') || word.starts_with('+')) continue; // silence and noises
    sum += std::clamp(static_cast<double>(logmath_exp(ps_get_logmath(d), ps_seg_prob(s, nullptr, nullptr, nullptr))),
                      0.0, 1.0);
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / count);
}

std::string words_of(ps_decoder_t* d) {
  std::int32_t score = 0;
  const char* words = ps_get_hyp(d, &score);
  return words ? words : "";
}

} // namespace quell::ear
