// One request of a web_loop: its options, its answer, and the meaning of a broken one. Also forms and headers.
#include "integrations/chat/web_transfer.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>

#include "integrations/models/web_request.hpp"
#include "protocol/public_address.hpp"

namespace quell::integrations::chat {
namespace {

constexpr std::size_t most_header_bytes = 64 << 10;
constexpr std::size_t most_fields = 256;

/// Whether nothing of the request was sent before this failure.
bool never_sent(CURL* easy, CURLcode code) {
  switch (code) {
  case CURLE_UNSUPPORTED_PROTOCOL:
  case CURLE_URL_MALFORMAT:
  case CURLE_COULDNT_RESOLVE_PROXY:
  case CURLE_COULDNT_RESOLVE_HOST:
  case CURLE_COULDNT_CONNECT:
  case CURLE_SSL_CONNECT_ERROR:
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CACERT_BADFILE:
    return true;
  default:
    break;
  }
  curl_off_t connected = 0;
  curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
  return connected == 0; // timed out before there was a connection to send on
}

/// Judges the very address that is connected to, so that a name that resolves differently a second time gains nothing.
curl_socket_t open_public(void*, curlsocktype, curl_sockaddr* address) {
  if (!is_public_address(&address->addr)) return CURL_SOCKET_BAD;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

} // namespace

web_transfer::web_transfer(transfers& network, web_request request, std::function<void(web_response)> done)
    : network_(network), request_(std::move(request)), done_(std::move(done)), easy_(curl_easy_init()) {
  for (const auto& header : request_.headers) headers_ = curl_slist_append(headers_, header.c_str());
  headers_ = curl_slist_append(headers_, "Expect:"); // otherwise a long body waits for a 100 Continue
  set_options();
  network_.add(easy_);
}

web_transfer::~web_transfer() {
  if (!is_over_) network_.remove(easy_);
  curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
}

void web_transfer::set_options() {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_HTTPHEADER, headers_);
  if (request_.method == "GET") {
    set(CURLOPT_HTTPGET, 1L);
  } else {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(CURLOPT_POSTFIELDS, request_.body.c_str()); // not copied; this object outlives the transfer
    if (request_.method != "POST") set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }
  set_common_options(easy_, request_.connect_timeout, request_.ca_file, error_);
  if (request_.public_only) {
    set(CURLOPT_OPENSOCKETFUNCTION, &open_public);
    set(CURLOPT_PROXY, "");
    set(CURLOPT_FRESH_CONNECT, 1L); // a kept connection was not judged for this request
    set(CURLOPT_FORBID_REUSE, 1L);
  }
  set(CURLOPT_TIMEOUT_MS, std::max(1L, static_cast<long>(request_.timeout.count())));
  set(CURLOPT_HEADERFUNCTION, &web_transfer::on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &web_transfer::on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
}

std::size_t web_transfer::on_header(char* bytes, std::size_t one, std::size_t count, void* self) {
  return static_cast<web_transfer*>(self)->take_header({bytes, one * count}) ? one * count : 0;
}

bool web_transfer::take_header(std::string_view line) {
  if ((header_bytes_ += line.size()) > most_header_bytes) return false;
  if (line.starts_with("HTTP/")) response_.headers.clear(); // new head after a 1xx
  if (const auto field = header_field_of(line)) response_.headers[field->name] = field->value;
  return true;
}

std::size_t web_transfer::on_body(char* bytes, std::size_t one, std::size_t count, void* self) {
  auto& t = *static_cast<web_transfer*>(self);
  t.response_.is_too_large = t.response_.body.size() + one * count > t.request_.most_body;
  if (t.response_.is_too_large) return 0;
  t.response_.body.append(bytes, one * count);
  return one * count;
}

void web_transfer::finish(CURLcode code) {
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &response_.status);
  if (code == CURLE_OK) {
    response_.what = web_end::answered;
  } else {
    response_.what = response_.status == 0 && never_sent(easy_, code) ? web_end::not_sent : web_end::unknown;
    response_.error = error_[0] ? error_ : curl_easy_strerror(code);
  }
  network_.release(easy_);
  is_over_ = true;
  done_(std::move(response_));
}

std::string web_response::header(std::string_view name) const {
  const auto found = headers.find(std::string(name));
  return found == headers.end() ? std::string{} : found->second;
}

milliseconds web_response::retry_after() const {
  const auto text = header("retry-after");
  if (text.empty()) return milliseconds{0};
  const double seconds = std::strtod(text.c_str(), nullptr);
  if (!(seconds > 0)) return milliseconds{0};
  return milliseconds{static_cast<std::int64_t>(std::min(seconds, 3600.0) * 1000 + 0.999)};
}

std::string form_encoded(std::string_view text) {
  static constexpr std::string_view digits = "0123456789ABCDEF";
  std::string made;
  for (const char c : text) {
    const bool is_plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '_' || c == '.' || c == '~';
    if (is_plain) {
      made += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    made += '%';
    made += digits[byte >> 4];
    made += digits[byte & 15];
  }
  return made;
}

std::string form_decoded(std::string_view text) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      made += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      made += text[i] == '+' ? ' ' : text[i];
    }
  }
  return made;
}

std::vector<std::pair<std::string, std::string>> form_fields(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> fields;
  while (!text.empty() && fields.size() < most_fields) {
    const auto end = std::min(text.find('&'), text.size());
    const auto one = text.substr(0, end);
    const auto equals = std::min(one.find('='), one.size());
    if (!one.empty())
      fields.emplace_back(form_decoded(one.substr(0, equals)),
                          form_decoded(one.substr(std::min(equals + 1, one.size()))));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return fields;
}

} // namespace quell::integrations::chat
