// The head of an HTTP/1.1 answer as text, and chunks.
#pragma once

#include <string>
#include <string_view>

#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// How the client finds the end of the body.
enum class body_form : std::uint8_t { sized, sized_and_close, chunked, chunked_and_close, until_close };

std::string reply_head(const response& answer, body_form form);
std::string as_chunk(std::string_view bytes);

} // namespace quell::controller::http
