// Leads a request to its handler, and turns every outcome into an answer.
#pragma once

#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// Answers one request; never throws. Belongs to the requests' thread.
awaitable<response> answer_request(gateway_context& gw, request req);

} // namespace quell::controller::http
