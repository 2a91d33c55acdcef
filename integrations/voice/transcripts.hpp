// The recogniser's standard output: one JSON object per line. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "integrations/voice/gateway_side.hpp"

namespace quell::integrations::voice {

/// `{"text":"…","final":true,"confidence":0.93,"from":16000}`; `text`, `confidence` and `from` (the first sample of the
/// utterance) may be absent.
class transcript_reader {
 public:
  /// Skips lines of any other form and lines longer than 64 KiB.
  std::vector<recognised> read(std::string_view bytes);

 private:
  std::string line_;
  bool is_too_long_ = false;
};

} // namespace quell::integrations::voice
