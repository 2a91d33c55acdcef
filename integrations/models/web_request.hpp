// What every HTTP transfer of this room has in common, and the lines of its answer's head.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace quell::integrations {

/// No redirects, no signals, HTTP/2 over TLS, and a cancel that never waits for a name that is being looked up.
/// `error`: CURL_ERROR_SIZE bytes that outlive the transfer. `ca_file` "": the system's authorities.
void set_common_options(CURL* easy, std::chrono::milliseconds connect_timeout, const std::string& ca_file, char* error);

struct header_field {
  std::string name; ///< lower case
  std::string_view value;
};
/// One line of a head; nullopt for the status line and the empty one.
std::optional<header_field> header_field_of(std::string_view line);

/// ASCII letters in lower case.
std::string lower(std::string_view text);

} // namespace quell::integrations
