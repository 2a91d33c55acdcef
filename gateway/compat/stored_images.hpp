// Images that came inside a request, as files of its conversation.
#pragma once

#include <vector>

#include "actors/turns/turn_scheduler.hpp"
#include "gateway/compat/sent_images.hpp"
#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// Files of conversations that only their client keeps are kept this long: it sends them again with its next request.
inline constexpr milliseconds keep_files_of_one_request{std::chrono::hours(24)};

/// Stores them in the message's scope, one after the other, and names them in the message. `keep`: 0 = as long as other
/// files. Throws for one that is too large, with its pointer, and for a full quota.
awaitable<> store_images(exchange& x, turns::message_order& order, std::vector<sent_image> images, milliseconds keep);

} // namespace quell::controller::http
