// GET /v1/audit.
#pragma once

#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// The audit, entry by entry: JSON pages, or with `Accept: application/x-ndjson` a stream of lines that can be appended
/// to a file; with `follow=true` the stream continues with new entries.
awaitable<response> list_audit(exchange& x);

} // namespace quell::controller::http
