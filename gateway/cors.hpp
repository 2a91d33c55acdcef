// Lets configured web pages call the API (CORS). Off unless origins are configured; tokens travel in a header, so the
// browser needs to send no credentials of its own.
#pragma once

#include <optional>

#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// The answer to a browser's preflight request for a page of this origin; nullopt if the request is not a preflight, or
/// the origin is not configured (then it is an ordinary request).
std::optional<response> preflight_answer(const gateway_options& options, const request& req);
/// Adds the headers that let the page read the answer.
void add_cors_headers(const gateway_options& options, const request& req, response& to);

} // namespace quell::controller::http
