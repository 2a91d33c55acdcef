// What a server or a connection did wrong, as a fault with one of our codes and a sentence that says what to do.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "integrations/models/translator.hpp"

namespace quell::integrations {

/// The parts of a response that is no stream of events.
struct refusal {
  long status = 0;
  std::map<std::string, std::string, std::less<>> headers; ///< names in lower case
  std::string body;                                        ///< its beginning
};

/// A status other than 200. `unix_seconds` is now, for a Retry-After that is a date.
mishap of_refusal(const refusal& what, std::int64_t unix_seconds);

/// A 200 whose body is no stream of events.
mishap of_wrong_body(const refusal& what);

/// An error object inside a stream: `error` as JSON text of either provider's shape.
mishap of_stream_error(std::string_view error);

/// A transfer that libcurl ended; `words` is what it says about it, `any_event` whether the stream had begun.
mishap of_transfer(int curl_code, std::string_view words, bool any_event);

/// What the server asked for: `retry-after-ms`, or `retry-after` in seconds or as a date. Nothing if it is not
/// understood or in the past.
std::optional<std::chrono::milliseconds> asked_wait(const refusal& what, std::int64_t unix_seconds);

} // namespace quell::integrations
