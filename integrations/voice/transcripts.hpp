// What a recogniser writes to its standard output: one JSON object a line. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "integrations/voice/gateway_side.hpp"

namespace quell::integrations::voice {

/// `{"text":"…","final":true,"confidence":0.93,"from":16000}`; `text`, `confidence` and `from` (the sample with which
/// it begins) may be absent.
class transcript_reader {
 public:
  /// What is no such line is passed by, as is what is longer than 64 KiB.
  std::vector<recognised> read(std::string_view bytes);

 private:
  std::string line_;
  bool is_too_long_ = false;
};

} // namespace quell::integrations::voice
