// Decoders of pocketsphinx, owned.
#pragma once

#include <pocketsphinx.h>

#include <memory>
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

/// The words of the best hypothesis; "" = none.
std::string words_of(ps_decoder_t* d);

} // namespace quell::ear
