// Turns server and connection errors into faults with one of our codes and a sentence that says what to do.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "integrations/models/translator.hpp"

namespace quell::integrations {

/// The parts of a response that is not an event stream.
struct refusal {
  long status = 0;
  std::map<std::string, std::string, std::less<>> headers; ///< names in lower case
  std::string body;                                        ///< the beginning of the body
};

/// From a status other than 200. `unix_seconds` is the present time, for a Retry-After that is a date.
provider_error error_from_status(const refusal& what, std::int64_t unix_seconds);

/// From a 200 whose body is not an event stream.
provider_error error_from_body(const refusal& what);

/// From an error object inside a stream: `error` is JSON text in either provider's shape.
provider_error of_stream_error(std::string_view error);

/// From a transfer that libcurl ended; `words` is libcurl's message, `any_event` says whether the stream had begun.
provider_error of_transfer(int curl_code, std::string_view words, bool had_event);

/// The wait that the server asked for: `retry-after-ms`, or `retry-after` in seconds or as a date. Nullopt if it is
/// unintelligible or in the past.
std::optional<std::chrono::milliseconds> requested_wait(const refusal& what, std::int64_t unix_seconds);

} // namespace quell::integrations
