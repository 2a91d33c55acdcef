// Multipart requests over libcurl's multi interface, so that the microphone is read while the server thinks.
#include "integrations/voice/ear/web_transcriber.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>

#include <nlohmann/json.hpp>

#include "integrations/ca_file.hpp"
#include "integrations/models/web_request.hpp"

namespace quell::ear {
namespace {

constexpr std::size_t most_waiting = 8, most_answer_bytes = 256 << 10;
constexpr std::chrono::milliseconds connect_timeout{5000};
constexpr long answer_timeout_ms = 30'000;

void put(std::string& to, std::uint32_t n, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) to += static_cast<char>((n >> (8 * i)) & 0xFFU);
}

std::string wav_of(const std::vector<std::int16_t>& samples) {
  constexpr std::uint32_t rate = 16000;
  const auto bytes = static_cast<std::uint32_t>(2 * samples.size());
  std::string file = "RIFF";
  put(file, 36 + bytes, 4);
  file += "WAVEfmt ";
  for (const auto& [n, size] :
       {std::pair{16U, 4U}, {1U, 2U}, {1U, 2U}, {rate, 4U}, {2 * rate, 4U}, {2U, 2U}, {16U, 2U}})
    put(file, n, size);
  file += "data";
  put(file, bytes, 4);
  for (const auto s : samples) put(file, static_cast<std::uint16_t>(s), 2);
  return file;
}

} // namespace

/// The confidence is the mean probability of the tokens, less what the server takes for silence.
result<transcript> read_transcript(const std::string& body) {
  const auto answer_json = nlohmann::json::parse(body, nullptr, false);
  const auto text = answer_json.is_object() ? answer_json.find("text") : answer_json.end();
  if (!answer_json.is_object() || text == answer_json.end() || !text->is_string())
    return failure("bad_answer", "the server's answer has no text");
  transcript t;
  t.text = text->get<std::string>();
  t.text.erase(0, t.text.find_first_not_of(" \t\r\n"));
  while (!t.text.empty() && std::strchr(" \t\r\n", t.text.back())) t.text.pop_back();
  const auto segments = answer_json.find("segments");
  if (segments == answer_json.end() || !segments->is_array() || segments->empty()) return t;
  double sum = 0, seconds = 0, silence = 0;
  const auto number = [](const nlohmann::json& in, const char* key) {
    const auto at = in.is_object() ? in.find(key) : in.end();
    return in.is_object() && at != in.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
  };
  for (const auto& one : *segments) {
    const auto sure = number(one, "avg_logprob");
    if (!sure) return t;
    const double length = std::max(0.01, number(one, "end").value_or(0) - number(one, "start").value_or(0));
    sum += length * *sure;
    seconds += length;
    silence = std::max(silence, number(one, "no_speech_prob").value_or(0));
  }
  t.confidence = std::clamp(std::exp(sum / seconds) * (1 - silence), 0.0, 1.0);
  return t;
}

struct web_transcriber::implementation {
  struct request {
    std::uint64_t number = 0;
    std::string file;
  };
  web_settings settings;
  callback tell;
  CURLM* multi = nullptr;
  CURL* easy = nullptr; ///< the request that runs
  curl_mime* form = nullptr;
  curl_slist* headers = nullptr;
  std::array<char, CURL_ERROR_SIZE> error{};
  std::string answer;
  std::deque<request> waiting; ///< the first one runs

  void begin();
  void finish(CURLcode code);
  void clean();
  static std::size_t on_body(char* bytes, std::size_t one, std::size_t count, void* self) {
    auto& answer = static_cast<implementation*>(self)->answer;
    if (answer.size() + one * count > most_answer_bytes) return 0;
    answer.append(bytes, one * count);
    return one * count;
  }
};

web_transcriber::web_transcriber(web_settings s, callback t) : self_(std::make_unique<implementation>()) {
  self_->settings = std::move(s);
  self_->tell = std::move(t);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  self_->multi = curl_multi_init();
}

web_transcriber::~web_transcriber() {
  self_->clean();
  curl_multi_cleanup(self_->multi);
}

bool web_transcriber::is_idle() const { return self_->waiting.empty(); }

void web_transcriber::take(std::uint64_t number, const std::vector<std::int16_t>& samples) {
  if (self_->waiting.size() >= most_waiting)
    return self_->tell(number, failure("busy", "8 utterances wait for the server; this one is left out"));
  self_->waiting.push_back({number, wav_of(samples)});
  if (self_->waiting.size() == 1) self_->begin();
}

void web_transcriber::implementation::begin() {
  easy = curl_easy_init();
  answer.clear();
  error[0] = 0;
  form = curl_mime_init(easy);
  const auto field = [this](const char* name, const std::string& value) {
    auto* part = curl_mime_addpart(form);
    curl_mime_name(part, name);
    curl_mime_data(part, value.data(), value.size());
    return part;
  };
  auto* file = field("file", waiting.front().file);
  curl_mime_filename(file, "speech.wav");
  curl_mime_type(file, "audio/wav");
  field("model", settings.model);
  field("response_format", settings.is_plain ? "json" : "verbose_json");
  if (!settings.language.empty()) field("language", settings.language);
  headers = curl_slist_append(nullptr, "Expect:");
  if (!settings.key.empty()) headers = curl_slist_append(headers, ("Authorization: Bearer " + settings.key).c_str());
  integrations::set_common_options(easy, connect_timeout, integrations::named_ca_file(), error.data());
  curl_easy_setopt(easy, CURLOPT_URL, (settings.url + "/audio/transcriptions").c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_MIMEPOST, form);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, answer_timeout_ms);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &implementation::on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, static_cast<void*>(this));
  curl_multi_add_handle(multi, easy);
}

void web_transcriber::implementation::clean() {
  if (!easy) return;
  curl_multi_remove_handle(multi, easy);
  curl_easy_cleanup(std::exchange(easy, nullptr));
  curl_mime_free(std::exchange(form, nullptr));
  curl_slist_free_all(std::exchange(headers, nullptr));
}

void web_transcriber::implementation::finish(CURLcode code) {
  constexpr std::size_t shown_bytes = 200;
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  const auto number = waiting.front().number;
  const auto body = std::exchange(answer, {});
  const std::string what = error[0] ? error.data() : curl_easy_strerror(code);
  clean();
  waiting.pop_front();
  if (!waiting.empty()) begin();
  if (code != CURLE_OK) return tell(number, failure("unreachable", settings.url + ": " + what));
  if (status < 200 || status > 299)
    return tell(number, failure("refused", settings.url + " answered " + std::to_string(status) + ": " +
                                               body.substr(0, shown_bytes)));
  tell(number, read_transcript(body));
}

void web_transcriber::wait(int descriptor) {
  constexpr int most_ms = 60'000;
  curl_waitfd also{descriptor, CURL_WAIT_POLLIN, 0};
  int running = 0, left = 0;
  curl_multi_perform(self_->multi, &running);
  curl_multi_poll(self_->multi, descriptor < 0 ? nullptr : &also, descriptor < 0 ? 0 : 1, most_ms, nullptr);
  curl_multi_perform(self_->multi, &running);
  while (const CURLMsg* message = curl_multi_info_read(self_->multi, &left))
    if (message->msg == CURLMSG_DONE) {
      self_->finish(message->data.result);
      break; // it is gone, and with it this message; the next one follows in the next call
    }
}

} // namespace quell::ear
