// quell-ear: the recogniser. Reads i16 samples at 16 kHz from standard input and writes one JSON object per line to
// standard output, as docs/voice.md specifies. A silence ends an utterance; pocketsphinx detects it.
//
// quell-ear [--models FOLDER]                  pocketsphinx with Debian's English model
// quell-ear --url URL --model MODEL [--language L] [--key-file FILE] [--plain yes]
//                                              an OpenAI-compatible server transcribes each utterance
#include <poll.h>
#include <sphinxbase/err.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iostream>

#include <nlohmann/json.hpp>

#include "integrations/voice/ear/flags.hpp"
#include "integrations/voice/ear/listener.hpp"
#include "integrations/voice/ear/second_pass.hpp"
#include "integrations/voice/ear/web_transcriber.hpp"

namespace {

using namespace quell::ear;

constexpr std::size_t samples_per_step = 1600;

constexpr const char* help = R"(quell-ear: recognises speech. Reads i16 samples at 16 kHz, mono, from standard input
and writes a JSON object per line to standard output (docs/voice.md).

quell-ear [--models FOLDER]   pocketsphinx, with the English model of FOLDER
quell-ear --url URL --model MODEL [--language L] [--key-file FILE] [--plain yes]
                              an OpenAI-compatible server transcribes each utterance

  --models FOLDER    default /usr/share/pocketsphinx/model/en-us
  --url URL          the server; utterances go to URL/audio/transcriptions
  --model MODEL      the server's model
  --language L       the language that is spoken, such as de
  --key-file FILE    the server's key is the first line of FILE
  --plain yes        the server answers without confidence
  --help             this text
)";

void say(const std::string& text, bool is_final, std::uint64_t from, std::optional<double> confidence = {}) {
  nlohmann::json line = {{"text", text}, {"final", is_final}, {"from", from}};
  if (confidence) line["confidence"] = *confidence;
  std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
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

int fail(const std::string& why) {
  std::cerr << "quell-ear: " << why << "\n";
  return 1;
}

/// pocketsphinx's confidence in its own words is too low to discard them by it: the confidence of free words begins
/// at the usual limit.
void say_final(const utterance& u, second_pass& again) {
  if (const auto stop = again.stop_in(u.samples, u.words)) return say(stop->words, true, u.from, stop->confidence);
  constexpr double least = 0.5;
  say(u.words, true, u.from, u.probability ? std::optional(least + (1 - least) * *u.probability) : std::nullopt);
}

int hear_here(ps_decoder_t* words, second_pass& again) {
  listener one(words, search::words,
               {[](const std::string& text, std::uint64_t from) { say(text, false, from); },
                [&again](const utterance& u) { say_final(u, again); }});
  std::array<std::int16_t, samples_per_step> samples{};
  while (const auto count = read_samples(samples.data(), samples.size())) one.hear(samples.data(), count);
  one.finish();
  return 0;
}

int hear_by_web(ps_decoder_t* detector, web_settings settings) {
  web_transcriber server(std::move(settings), [](std::uint64_t from, const quell::result<transcript>& t) {
    if (!t) std::cerr << "quell-ear: " << t.error().detail << std::endl;
    say(t ? t->text : "", true, from, t ? t->confidence : std::nullopt);
  });
  listener one(detector, search::none, {{}, [&server](const utterance& u) { server.take(u.from, u.samples); }});
  std::array<std::int16_t, samples_per_step> samples{};
  for (bool is_open = true; is_open || !server.is_idle();) {
    server.wait(is_open ? STDIN_FILENO : -1);
    pollfd in{STDIN_FILENO, POLLIN, 0};
    if (!is_open || ::poll(&in, 1, 0) <= 0) continue;
    const auto count = read_samples(samples.data(), samples.size());
    is_open = count > 0;
    if (is_open)
      one.hear(samples.data(), count);
    else
      one.finish();
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (wants_help(argc, argv)) {
    std::cout << help;
    return 0;
  }
  const auto flags = read_flags(argc, argv, {"models", "url", "model", "language", "key-file", "plain"});
  if (!flags) return fail(flags.error().detail);
  const auto flag = [&](const char* name, const char* usual = "") {
    const auto at = flags->find(name);
    return at == flags->end() ? std::string(usual) : at->second;
  };
  err_set_logfp(nullptr);
  const auto models = flag("models", "/usr/share/pocketsphinx/model/en-us");
  const auto no_models =
      "the models in " + models + " cannot be used; install pocketsphinx-en-us, or name their folder with --models";
  if (flag("url").empty()) {
    const auto words = make_decoder(models, {"-lm", models + "/en-us.lm.bin"});
    second_pass again(models);
    return words && again.is_ready() ? hear_here(words.get(), again) : fail(no_models);
  }
  auto key = key_of(*flags);
  if (!key) return fail(key.error().detail);
  const auto detector = make_decoder(models, {"-keyphrase", "stop"});
  if (!detector) return fail(no_models);
  return hear_by_web(detector.get(),
                     {flag("url"), flag("model"), flag("language"), std::move(*key), flag("plain") == "yes"});
}
