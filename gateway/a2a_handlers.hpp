// The handlers of the routes below /a2a/.
#pragma once

#include <functional>
#include <memory>

#include "gateway/exchange.hpp"
#include "gateway/push_port.hpp"

namespace quell::controller::http::a2a {

awaitable<response> get_card(exchange& x);  // card.cpp
awaitable<response> post_rpc(exchange& x);  // rpc.cpp
awaitable<response> post_send(exchange& x); // rest.cpp
awaitable<response> post_stream(exchange& x);
awaitable<response> get_tasks(exchange& x);
awaitable<response> get_one_task(exchange& x);
awaitable<response> post_to_task(exchange& x);
awaitable<response> post_push_config(exchange& x);
awaitable<response> get_push_configs(exchange& x);
awaitable<response> get_one_push_config(exchange& x);
awaitable<response> delete_one_push_config(exchange& x);

/// Begins push notifications, also those that an earlier life left. `counted` gives a ticket while which the gateway's
/// threads do not end. Call before its threads run.
std::shared_ptr<push_port> start_push(const std::shared_ptr<gateway_context>& gw,
                                      std::function<std::shared_ptr<void>()> counted); // push_start.cpp

} // namespace quell::controller::http::a2a
