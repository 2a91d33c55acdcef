// quell-mouth: speech from an OpenAI-compatible server. Reads UTF-8 text from standard input until its end, posts it to
// URL/audio/speech, and writes the samples to standard output as they come: raw i16, mono, at the server's rate. It is
// cancelled by ending the process, which closes the connection.
//
// quell-mouth --url URL --model MODEL --voice VOICE [--speed X] [--key-file FILE]
#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "integrations/ca_file.hpp"
#include "integrations/models/web_request.hpp"
#include "integrations/voice/ear/flags.hpp"

namespace {

constexpr std::size_t most_text_bytes = 64 << 10, most_error_bytes = 1024, most_sound_bytes = 128 << 20;
constexpr std::chrono::milliseconds connect_timeout{5000};
constexpr long whole_timeout_ms = 15 * 60'000;
constexpr std::chrono::seconds first_byte_timeout{30};

constexpr const char* help =
    R"(quell-mouth: speaks text by an OpenAI-compatible server. Reads UTF-8 text from standard input
until its end and writes samples to standard output: raw i16, mono, at the server's rate (docs/voice.md).

quell-mouth --url URL --model MODEL --voice VOICE [--speed X] [--key-file FILE]

  --url URL          the server; the text goes to URL/audio/speech
  --model MODEL      the server's model
  --voice VOICE      one of the server's voices
  --speed X          1 is the usual speed
  --key-file FILE    the server's key is the first line of FILE
  --help             this text
)";

std::optional<std::string> text_on_stdin() {
  std::string text;
  std::array<char, 16384> bytes{};
  for (;;) {
    const auto n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0 ? std::optional(text) : std::nullopt;
    text.append(bytes.data(), static_cast<std::size_t>(n));
    if (text.size() > most_text_bytes) return std::nullopt;
  }
}

bool write_all(const char* bytes, std::size_t size) {
  while (size > 0) {
    const auto n = ::write(STDOUT_FILENO, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

struct speech {
  CURL* easy = nullptr;
  std::chrono::steady_clock::time_point began{};
  std::size_t written = 0;
  std::string refusal; ///< the body of an answer without sound
};

bool is_sound(CURL* easy) {
  long status = 0;
  const char* type = nullptr;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
  const std::string_view kind = type ? type : "";
  return status >= 200 && status <= 299 && !kind.starts_with("application/json") && !kind.starts_with("text/");
}

std::size_t on_body(char* bytes, std::size_t one, std::size_t count, void* self) {
  auto& s = *static_cast<speech*>(self);
  const auto size = one * count;
  if (!is_sound(s.easy)) {
    s.refusal.append(bytes, std::min(size, most_error_bytes - std::min(most_error_bytes, s.refusal.size())));
    return size;
  }
  s.written += size;
  return s.written <= most_sound_bytes && write_all(bytes, size) ? size : 0;
}

int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& s = *static_cast<speech*>(self);
  return s.written == 0 && std::chrono::steady_clock::now() - s.began > first_byte_timeout ? 1 : 0;
}

int fail(const std::string& why) {
  std::cerr << "quell-mouth: " << why << "\n";
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  if (quell::ear::wants_help(argc, argv)) {
    std::cout << help;
    return 0;
  }
  const auto flags = quell::ear::read_flags(argc, argv, {"url", "model", "voice", "speed", "key-file"});
  if (!flags) return fail(flags.error().detail);
  const auto key = quell::ear::key_of(*flags);
  if (!key) return fail(key.error().detail);
  const auto text = text_on_stdin();
  if (!text) return fail("the text on standard input cannot be read, or is longer than 64 KiB");
  const auto flag = [&](const char* name) {
    const auto at = flags->find(name);
    return at == flags->end() ? std::string() : at->second;
  };
  nlohmann::json wanted = {
      {"model", flag("model")}, {"voice", flag("voice")}, {"input", *text}, {"response_format", "pcm"}};
  if (const auto speed = flag("speed"); !speed.empty()) wanted["speed"] = std::strtod(speed.c_str(), nullptr);
  const auto body = wanted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const auto url = flag("url") + "/audio/speech";
  std::array<char, CURL_ERROR_SIZE> error{};
  curl_global_init(CURL_GLOBAL_DEFAULT);
  speech s{curl_easy_init(), std::chrono::steady_clock::now(), 0, {}};
  auto* headers = curl_slist_append(nullptr, "Content-Type: application/json");
  if (!key->empty()) headers = curl_slist_append(headers, ("Authorization: Bearer " + *key).c_str());
  quell::integrations::set_common_options(s.easy, connect_timeout, quell::integrations::named_ca_file(), error.data());
  const auto set = [&s](CURLoption option, auto value) { curl_easy_setopt(s.easy, option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_HTTPHEADER, headers);
  set(CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  set(CURLOPT_POSTFIELDS, body.c_str());
  set(CURLOPT_TIMEOUT_MS, whole_timeout_ms);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(&s));
  set(CURLOPT_WRITEFUNCTION, &on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&s));
  const auto code = curl_easy_perform(s.easy);
  if (code == CURLE_ABORTED_BY_CALLBACK) return fail(url + " sent no sound within 30 s");
  if (code != CURLE_OK) return fail(url + ": " + (error[0] ? error.data() : curl_easy_strerror(code)));
  if (!is_sound(s.easy)) {
    long status = 0;
    curl_easy_getinfo(s.easy, CURLINFO_RESPONSE_CODE, &status);
    return fail(url + " answered " + std::to_string(status) + " without sound: " + s.refusal);
  }
  return 0;
}
