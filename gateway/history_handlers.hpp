// POST /v1/history: changes of a conversation. For the router.
#pragma once

#include "gateway/exchange.hpp"

namespace quell::controller::http {

awaitable<response> change_history(exchange& x); // history_post.cpp

} // namespace quell::controller::http
