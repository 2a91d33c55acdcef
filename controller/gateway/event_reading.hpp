// Kept events for who delivers them elsewhere: a page of the store, rendered as watchers see them.
#pragma once

#include "controller/gateway/core.hpp"

namespace quell::controller::http {

/// What is kept behind `filter.after`. Audit events only if the filter names them. Throws `problem`.
awaitable<kept_events> read_shown_events(core& gw, storage::event_filter filter);

} // namespace quell::controller::http
