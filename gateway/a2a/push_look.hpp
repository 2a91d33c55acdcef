// Reads a task for its push notifications.
#pragma once

#include "gateway/a2a/push_config.hpp"
#include "gateway/a2a/push_delivery.hpp"
#include "gateway/a2a/task_reading.hpp"

namespace quell::controller::http::a2a {

/// The task as it is now, and what is sent of it: the whole task once it is over, else its status. Nullopt: it is not
/// kept any more. Throws `problem`.
awaitable<std::optional<push_look>> look_for_push(thread_context& gw, push_config config);

} // namespace quell::controller::http::a2a
