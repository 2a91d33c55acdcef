// /v1/mcp: the configured MCP servers and the logins there. For the router.
#pragma once

#include "gateway/exchange.hpp"

namespace quell::controller::http {

awaitable<response> list_mcp(exchange& x);
awaitable<response> begin_mcp_login(exchange& x);
awaitable<response> finish_mcp_login(exchange& x);
awaitable<response> mcp_logout(exchange& x);

} // namespace quell::controller::http
