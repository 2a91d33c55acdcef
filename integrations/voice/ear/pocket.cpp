// Arguments and hypotheses of pocketsphinx.
#include "integrations/voice/ear/pocket.hpp"

#include <sphinxbase/cmd_ln.h>

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

std::string words_of(ps_decoder_t* d) {
  std::int32_t score = 0;
  const char* words = ps_get_hyp(d, &score);
  return words ? words : "";
}

} // namespace quell::ear
