// Reads stored events for a consumer that delivers them elsewhere: a page of the store, rendered as for watchers.
#pragma once

#include "gateway/gateway_context.hpp"

namespace quell::controller::http {

/// The stored events after `filter.after`. Includes audit events only if the filter names them. Throws `problem`.
awaitable<kept_events> read_shown_events(thread_context& gw, records::event_filter filter);

} // namespace quell::controller::http
