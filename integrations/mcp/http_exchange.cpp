// One HTTP request to an MCP server, and its answer.
#include "integrations/mcp/http_exchange.hpp"

#include <algorithm>

#include "integrations/mcp/limits.hpp"
#include "integrations/models/web_request.hpp"

namespace quell::integrations {
namespace {

constexpr std::size_t error_body_bytes = 16 * 1024;

bool is_session_id(std::string_view text) {
  return !text.empty() && text.size() <= mcp_limits::session_id_bytes &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > 0x20 && c < 0x7F; });
}

} // namespace

http_exchange::http_exchange(transfers& network, http_ask what, std::function<void()> news)
    : network_(network), what_(std::move(what)), news_(std::move(news)), easy_(curl_easy_init()) {
  for (const std::string& header : what_.headers) headers_ = curl_slist_append(headers_, header.c_str());
  headers_ = curl_slist_append(headers_, "Expect:"); // otherwise a long body waits for a 100 Continue
  set_options();
  network_.add(easy_);
}

http_exchange::~http_exchange() {
  if (!ending_) network_.remove(easy_);
  curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
}

void http_exchange::set_options() {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
  set(CURLOPT_PRIVATE, static_cast<void*>(this));
  set(CURLOPT_URL, what_.url.c_str());
  set(CURLOPT_HTTPHEADER, headers_);
  if (what_.never_twice) set(CURLOPT_FRESH_CONNECT, 1L);
  if (what_.how == http_ask::method::post) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(what_.body.size()));
    set(CURLOPT_POSTFIELDS, what_.body.c_str()); // not copied; it lives as long as the transfer
  } else if (what_.how == http_ask::method::remove) {
    set(CURLOPT_CUSTOMREQUEST, "DELETE");
  }
  set_common_options(easy_, what_.connect_timeout, what_.ca_file, error_);
  set(CURLOPT_HEADERFUNCTION, &http_exchange::on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &http_exchange::on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
}

std::size_t http_exchange::on_header(char* bytes, std::size_t one, std::size_t count, void* self) {
  return static_cast<http_exchange*>(self)->take_header({bytes, one * count}) ? one * count : 0;
}

std::size_t http_exchange::on_body(char* bytes, std::size_t one, std::size_t count, void* self) {
  return static_cast<http_exchange*>(self)->take_body({bytes, one * count}) ? one * count : 0;
}

bool http_exchange::give_up(std::string why) {
  broken_ = std::move(why);
  return false;
}

bool http_exchange::take_header(std::string_view line) {
  if ((header_bytes_ += line.size()) > mcp_limits::header_bytes) return give_up("its headers are too long");
  if (line.starts_with("HTTP/")) type_.clear(), session_.clear(), challenge_.clear(); // new head after a 1xx
  const auto field = header_field_of(line);
  if (!field) return true;
  if (field->name == "content-type") type_ = lower(field->value);
  if (field->name == "mcp-session-id" && is_session_id(field->value)) session_ = field->value;
  if (field->name == "www-authenticate" && challenge_.size() + field->value.size() <= mcp_limits::challenge_bytes)
    (challenge_ += challenge_.empty() ? "" : ", ") += field->value;
  return true;
}

bool http_exchange::take_body(std::string_view bytes) {
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  body_bytes_ += bytes.size();
  const bool good = status >= 200 && status <= 299;
  if (good && type_.starts_with("text/event-stream")) return take_events(bytes);
  const std::size_t most = good ? mcp_limits::line_bytes : error_body_bytes;
  if (body_.size() + bytes.size() <= most) {
    body_ += bytes;
    return true;
  }
  body_ += bytes.substr(0, most - body_.size());
  return good ? give_up("its answer is longer than " + std::to_string(most >> 20) + " MiB") : false;
}

bool http_exchange::take_events(std::string_view bytes) {
  if (body_bytes_ > mcp_limits::stream_bytes)
    return give_up("its answer is longer than " + std::to_string(mcp_limits::stream_bytes >> 20) + " MiB");
  const std::size_t before = messages_.size();
  const auto took = decoder_.take(bytes, [this](std::string_view, std::string_view data) {
    if (!data.empty()) messages_.emplace_back(data);
    return true;
  });
  if (messages_.size() > before) news_();
  if (took != sse_decoder::state::fine) return give_up("one event of its answer is longer than 4 MiB");
  return true;
}

std::string http_exchange::last_event_id() const {
  const std::string& id = decoder_.last_id();
  if (id.empty()) return {};
  const bool fits = id.size() <= mcp_limits::event_id_bytes && id.front() != ' ' && id.back() != ' ' &&
                    std::all_of(id.begin(), id.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7F; });
  return fits ? id : std::string();
}

bool http_exchange::sent() const {
  if (ending_) return ending_->sent;
  // Counts the bytes handed to the network on an established connection.
  long bytes = 0;
  curl_easy_getinfo(easy_, CURLINFO_REQUEST_SIZE, &bytes);
  return bytes > 0;
}

void http_exchange::done(CURL* easy, CURLcode code) {
  void* self = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
  static_cast<http_exchange*>(self)->finish(code);
}

void http_exchange::finish(CURLcode code) {
  http_ending end;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &end.status);
  end.sent = sent() || end.status != 0;
  end.session = session_;
  end.challenge = challenge_;
  end.broken = broken_;
  const bool good = end.status >= 200 && end.status <= 299;
  // A refusal whose body was too long to read in full still counts as a refusal.
  if (code != CURLE_OK && (good || end.status == 0) && broken_.empty())
    end.transport = error_[0] ? error_ : curl_easy_strerror(code);
  if (good && end.transport.empty() && broken_.empty() && type_.starts_with("application/json") && !body_.empty())
    messages_.push_back(std::exchange(body_, {}));
  end.body = body_.substr(0, error_body_bytes);
  network_.release(easy_);
  ending_ = std::move(end);
  news_();
}

} // namespace quell::integrations
