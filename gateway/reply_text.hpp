// The head of an HTTP/1.1 answer as text, and chunks.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// How the client finds the end of the body.
enum class body_form : std::uint8_t { sized, sized_and_close, chunked, chunked_and_close, until_close };
constexpr bool is_chunked(body_form form) { return form == body_form::chunked || form == body_form::chunked_and_close; }

/// As RFC 9110 (5.6.7) wants it: `Sun, 06 Nov 1994 08:49:37 GMT`.
std::string http_date(std::chrono::sys_seconds at);

/// For the Date header.
inline std::chrono::sys_seconds this_second() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}
/// `now` becomes the Date header: clients correct what their own clock is wrong by.
std::string reply_head(const response& answer, body_form form, std::chrono::sys_seconds now);
std::string as_chunk(std::string_view bytes);

} // namespace quell::controller::http
