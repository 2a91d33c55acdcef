// Web pages that may call the API (CORS). Off unless origins are configured; tokens travel in a header, so there are no
// credentials of the browser's to allow.
#pragma once

#include <optional>

#include "controller/gateway/exchange.hpp"

namespace quell::controller::http {

/// The answer to a browser's question whether a page of this origin may send the request; nullopt if it is none, or
/// the origin is not configured (then it is an ordinary request).
std::optional<response> preflight_answer(const gateway_options& options, const request& req);
/// Adds what lets the page read the answer.
void add_cors_headers(const gateway_options& options, const request& req, response& to);

} // namespace quell::controller::http
