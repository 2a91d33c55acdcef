// Options common to all transfers, and header lines.
#include "integrations/models/web_request.hpp"

#include <algorithm>
#include <cctype>

#include "protocol/blanks.hpp"

namespace quell::integrations {

void set_common_options(CURL* easy, std::chrono::milliseconds connect_timeout, const std::string& ca_file,
                        char* error) {
  const auto set = [easy](CURLoption option, auto value) { curl_easy_setopt(easy, option, value); };
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set(CURLOPT_USERAGENT, "quell");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L); // a cancel must not wait for a name lookup
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, std::max(1L, static_cast<long>(connect_timeout.count())));
  set(CURLOPT_ERRORBUFFER, error);
  if (!ca_file.empty()) set(CURLOPT_CAINFO, ca_file.c_str());
}

std::optional<header_field> header_field_of(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return header_field{lower(line.substr(0, colon)), trimmed(line.substr(colon + 1))};
}

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(), [](unsigned char c) { return std::tolower(c); });
  return made;
}

} // namespace quell::integrations
