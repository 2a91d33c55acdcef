// Options common to every HTTP transfer of this room, and the parsing of response headers.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace quell::integrations {

/// No redirects, no signals, HTTP/2 over TLS, and a cancel never waits for a name lookup. `error`: CURL_ERROR_SIZE
/// bytes that outlive the transfer. `ca_file` "": the system's authorities.
void set_common_options(CURL* easy, std::chrono::milliseconds connect_timeout, const std::string& ca_file, char* error);

struct header_field {
  std::string name; ///< lower case
  std::string_view value;
};
/// One line of a response head; nullopt for the status line and the empty line.
std::optional<header_field> header_field_of(std::string_view line);

/// The text with its ASCII letters in lower case.
std::string lower(std::string_view text);

} // namespace quell::integrations
