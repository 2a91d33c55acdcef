// quell-ear: the default recogniser, pocketsphinx with Debian's English model. Reads 16-bit little-endian samples at 16
// kHz from standard input and writes one JSON object per line to standard output, as docs/voice.md specifies. Voice
// activity detection is pocketsphinx's own: a silence ends an utterance.
#include <pocketsphinx.h>
#include <sphinxbase/err.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

constexpr std::size_t samples_per_step = 1600, samples_per_partial = 4800;
constexpr std::uint64_t preroll_samples = 8000; ///< speech is detected only after it has begun

struct free_config {
  void operator()(cmd_ln_t* c) const { cmd_ln_free_r(c); }
};
struct free_decoder {
  void operator()(ps_decoder_t* d) const { ps_free(d); }
};

void say(const std::string& text, bool is_final, std::uint64_t from) {
  const nlohmann::json line = {{"text", text}, {"final", is_final}, {"from", from}};
  std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

std::string words_of(ps_decoder_t* decoder) {
  std::int32_t score = 0;
  const char* words = ps_get_hyp(decoder, &score);
  return words ? words : "";
}

/// The next samples; fewer than `most` only at the end of the input.
std::size_t read_samples(std::int16_t* to, std::size_t most) {
  auto* bytes = reinterpret_cast<char*>(to);
  std::size_t have = 0;
  while (have < 2 * most) {
    const auto n = ::read(STDIN_FILENO, bytes + have, 2 * most - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    have += static_cast<std::size_t>(n);
    if (have % 2 == 0) break; // process the whole samples that have arrived
  }
  return have / 2;
}

class ear {
 public:
  explicit ear(ps_decoder_t* decoder) : decoder_(decoder) { ps_start_utt(decoder_); }

  void hear(const std::int16_t* samples, std::size_t count) {
    ps_process_raw(decoder_, samples, count, 0, 0);
    heard_ += count;
    const bool is_speech = ps_get_in_speech(decoder_) != 0;
    if (is_speech && !is_in_words_) begin();
    if (!is_speech && is_in_words_) end();
    if (is_in_words_ && heard_ >= next_partial_) partial();
  }
  void finish() {
    if (is_in_words_) end();
  }

 private:
  void begin() {
    is_in_words_ = true;
    from_ = std::max(floor_, heard_ - std::min(heard_, preroll_samples));
    next_partial_ = heard_ + samples_per_partial;
  }
  void partial() {
    next_partial_ = heard_ + samples_per_partial;
    const auto words = words_of(decoder_);
    if (words.empty() || words == said_) return;
    said_ = words;
    say(words, false, from_);
  }
  void end() {
    ps_end_utt(decoder_);
    say(words_of(decoder_), true, from_);
    is_in_words_ = false;
    said_.clear();
    floor_ = heard_;
    ps_start_utt(decoder_);
  }

  ps_decoder_t* decoder_;
  std::uint64_t heard_ = 0, from_ = 0, floor_ = 0, next_partial_ = 0;
  bool is_in_words_ = false;
  std::string said_;
};

} // namespace

int main(int argc, char** argv) {
  const std::string model = argc > 1 ? argv[1] : "/usr/share/pocketsphinx/model/en-us";
  err_set_logfp(nullptr);
  const std::string acoustic = model + "/en-us", language = model + "/en-us.lm.bin",
                    words = model + "/cmudict-en-us.dict";
  const std::unique_ptr<cmd_ln_t, free_config> config(cmd_ln_init(
      nullptr, ps_args(), 1, "-hmm", acoustic.c_str(), "-lm", language.c_str(), "-dict", words.c_str(), nullptr));
  const std::unique_ptr<ps_decoder_t, free_decoder> decoder(config ? ps_init(config.get()) : nullptr);
  if (!decoder) {
    std::cerr << "quell-ear: the model in " << model
              << " cannot be used; install pocketsphinx-en-us, or name its folder as the only argument\n";
    return 1;
  }
  ear one(decoder.get());
  std::array<std::int16_t, samples_per_step> samples{};
  for (;;) {
    const auto count = read_samples(samples.data(), samples.size());
    if (count == 0) break;
    one.hear(samples.data(), count);
  }
  one.finish();
  return 0;
}
