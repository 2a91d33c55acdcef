// One attempt over HTTP: sends a request and reads its event stream as it arrives.
#include "integrations/models/web_attempt.hpp"

#include <ctime>

#include "integrations/models/limits.hpp"
#include "integrations/models/text.hpp"
#include "integrations/models/web_request.hpp"
#include "protocol/failure_code.hpp"

namespace quell::integrations {
namespace {

constexpr std::size_t after_end_bytes = 64 * 1024; ///< more bytes than this after the answer's end are not read

} // namespace

web_attempt::web_attempt(attempt_host& host, transfers& network, std::shared_ptr<const web_plan> plan)
    : host_(host), network_(network), plan_(std::move(plan)), reader_(plan_->reader(plan_->ids)),
      easy_(curl_easy_init()) {
  for (const std::string& header : plan_->request.headers) headers_ = curl_slist_append(headers_, header.c_str());
  headers_ = curl_slist_append(headers_, "Expect:"); // otherwise a long body waits for a 100 Continue
  set_options();
  network_.add(easy_);
}

web_attempt::~web_attempt() {
  if (!over_) network_.remove(easy_);
  curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
}

void web_attempt::set_options() {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
  set(CURLOPT_PRIVATE, static_cast<void*>(this));
  set(CURLOPT_URL, plan_->request.url.c_str());
  set(CURLOPT_HTTPHEADER, headers_);
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(plan_->request.body.size()));
  set(CURLOPT_POSTFIELDS, plan_->request.body.c_str()); // not copied; the plan outlives the transfer
  set_common_options(easy_, plan_->connect_timeout, plan_->ca_file, error_);
  set(CURLOPT_HEADERFUNCTION, &web_attempt::on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &web_attempt::on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
}

std::size_t web_attempt::on_header(char* bytes, std::size_t one, std::size_t count, void* self) {
  return static_cast<web_attempt*>(self)->take_header({bytes, one * count}) ? one * count : 0;
}

std::size_t web_attempt::on_body(char* bytes, std::size_t one, std::size_t count, void* self) {
  return static_cast<web_attempt*>(self)->take_body({bytes, one * count}) ? one * count : 0;
}

bool web_attempt::take_header(std::string_view line) {
  if ((header_bytes_ += line.size()) > limits::header_bytes) {
    provider_error_ =
        broken("the server sent more than " + std::to_string(limits::header_bytes >> 10) + " KiB of headers");
    return false;
  }
  if (line.starts_with("HTTP/")) response_.headers.clear(); // new head after a 1xx
  if (const auto field = header_field_of(line)) response_.headers[field->name] = field->value;
  return true;
}

bool web_attempt::is_stream() {
  if (response_.status == 0) curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &response_.status);
  if (response_.status < 200 || response_.status > 299) return false;
  const auto type = response_.headers.find("content-type");
  // Some servers omit the type of a stream; none sends a stream under one of these types.
  return type == response_.headers.end() ||
         (!type->second.starts_with("text/html") && !type->second.starts_with("application/json"));
}

bool web_attempt::take_body(std::string_view bytes) {
  body_bytes_ += bytes.size();
  host_.alive(attempt_host::sign_of_life::bytes);
  if (!is_stream()) {
    const std::size_t room = limits::error_body_bytes - response_.body.size();
    response_.body += bytes.substr(0, room);
    return bytes.size() <= room;
  }
  if (reader_->finished()) return (body_bytes_ <= after_end_bytes);
  if (body_bytes_ > limits::stream_bytes) {
    provider_error_ = broken("the answer is longer than " + std::to_string(limits::stream_bytes >> 20) + " MiB");
    return false;
  }
  if (!take_events(bytes)) return false;
  if (reader_->finished()) body_bytes_ = 0;
  return true;
}

bool web_attempt::take_events(std::string_view bytes) {
  const auto took = decoder_.take(bytes, [this](std::string_view name, std::string_view data) {
    if (reader_->finished()) return false;
    any_event_ = true;
    host_.alive(attempt_host::sign_of_life::event);
    std::vector<model_event> events;
    provider_error_ = reader_->take(name, data, events);
    if (!events.empty()) host_.on_events(std::move(events));
    if (!provider_error_ && reader_->settled() && !reader_->finished()) host_.settled();
    return !provider_error_;
  });
  if (took == sse_decoder::state::line_too_long || took == sse_decoder::state::event_too_long)
    provider_error_ =
        broken("one event of the answer is longer than " + std::to_string(limits::event_bytes >> 20) + " MiB");
  return !provider_error_;
}

void web_attempt::conclude() {
  if (over_ || reader_->finished()) return;
  std::vector<model_event> events;
  if (auto what = reader_->end(events))
    host_.failed(std::move(*what), reader_->usage());
  else
    host_.on_events(std::move(events));
}

void web_attempt::done(CURL* easy, CURLcode code) {
  void* self = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
  static_cast<web_attempt*>(self)->finish(code);
}

void web_attempt::finish(CURLcode code) {
  is_stream(); // fetches the status if no body came
  network_.release(easy_);
  over_ = true;
  std::vector<model_event> events;
  if (auto what = outcome(code, events)) return host_.failed(std::move(*what), reader_->usage());
  if (!events.empty()) host_.on_events(std::move(events));
  host_.ended();
}

std::optional<provider_error> web_attempt::outcome(CURLcode code, std::vector<model_event>& events) {
  if (reader_->finished()) return std::nullopt;
  if (provider_error_) return std::move(provider_error_);
  if (response_.status != 0 && (response_.status < 200 || response_.status > 299))
    return error_from_status(response_, static_cast<std::int64_t>(std::time(nullptr)));
  if (code != CURLE_OK && !reader_->settled())
    return response_.body.empty() ? of_transfer(code, error_[0] ? error_ : curl_easy_strerror(code), any_event_)
                                  : error_from_body(response_);
  if (!is_stream()) return error_from_body(response_);
  auto what = reader_->end(events);
  // An end of the body without the end event is a lost connection that was closed cleanly.
  if (what) {
    what->again = true;
    what->why.code = name_of(failure_code::model_cut);
  }
  return what;
}

} // namespace quell::integrations
