// Decoders of pocketsphinx, owned.
#pragma once

#include <pocketsphinx.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quell::ear {

struct free_decoder {
  void operator()(ps_decoder_t* d) const { ps_free(d); }
};
using decoder = std::unique_ptr<ps_decoder_t, free_decoder>;

/// A decoder with the acoustic model and the dictionary in the folder `model`, and `more` of pocketsphinx's arguments;
/// nullptr if they cannot be used.
decoder make_decoder(const std::string& model, const std::vector<std::string>& more);

/// The phones of a word in the decoder's dictionary, with spaces between them; "" = it is not there.
std::string pronunciation_of(ps_decoder_t* d, const std::string& word);

/// The mean probability of the words of the best hypothesis, by the decoder's own lattice; nullopt: there are none.
std::optional<double> probability_of(ps_decoder_t* d);

/// The words of the best hypothesis; "" = none.
std::string words_of(ps_decoder_t* d);

} // namespace quell::ear
