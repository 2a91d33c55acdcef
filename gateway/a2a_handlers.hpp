// The handlers of the routes below /a2a/.
#pragma once

#include "gateway/exchange.hpp"

namespace quell::controller::http::a2a {

awaitable<response> get_card(exchange& x);  // card.cpp
awaitable<response> post_rpc(exchange& x);  // rpc.cpp
awaitable<response> post_send(exchange& x); // rest.cpp
awaitable<response> post_stream(exchange& x);
awaitable<response> get_tasks(exchange& x);
awaitable<response> get_one_task(exchange& x);
awaitable<response> post_to_task(exchange& x);

} // namespace quell::controller::http::a2a
