// Transcription by an OpenAI-compatible server: one utterance after the other as a WAV file to `/audio/transcriptions`.
// Hides libcurl. Cancelled by ending the process, which closes the connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/fault.hpp"

namespace quell::ear {

struct web_settings {
  std::string url; ///< of the server, such as http://127.0.0.1:8000/v1
  std::string model, language;
  std::string key;       ///< a secret; "" = none
  bool is_plain = false; ///< asks for `json`: the server knows no `verbose_json`, so transcripts lack a confidence
};

struct transcript {
  std::string text;
  std::optional<double> confidence;
};

/// The text and the confidence of an answer in `json` or `verbose_json`. Fault `bad_answer`.
result<transcript> read_transcript(const std::string& body);

class web_transcriber {
 public:
  /// `text` comes with the number given to `take`; a fault says why there is none.
  using callback = std::function<void(std::uint64_t number, result<transcript>)>;
  web_transcriber(web_settings s, callback t);
  ~web_transcriber();
  web_transcriber(const web_transcriber&) = delete;
  web_transcriber& operator=(const web_transcriber&) = delete;

  /// i16 samples at 16 kHz. At most 8 wait; a further one is answered with a fault at once.
  void take(std::uint64_t number, const std::vector<std::int16_t>& samples);
  bool is_idle() const;
  /// Waits until `descriptor` (-1 = none) is readable or something has been answered, at most a minute.
  void wait(int descriptor);

 private:
  struct implementation;
  std::unique_ptr<implementation> self_;
};

} // namespace quell::ear
