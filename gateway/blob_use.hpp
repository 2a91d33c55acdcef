// Files that a message names: whether it may, and what is known about them.
#pragma once

#include "actors/turns/turn_scheduler.hpp"
#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// Completes `order.files`, and keeps those files longer. Throws `invalid_field` for a file that does not exist, that
/// the caller does not see, or that belongs to another scope than the message's or one above it.
void use_blobs(exchange& x, turns::message_order& order);

} // namespace quell::controller::http
