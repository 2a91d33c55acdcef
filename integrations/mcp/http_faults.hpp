// What went wrong with an MCP server over HTTP, as a fault that says what to do.
#pragma once

#include <string>
#include <string_view>

#include "integrations/mcp/http_exchange.hpp"

namespace quell::integrations {

/// An exchange that ended without the answer that was waited for. `what` reads like "tool \"x\"".
fault of_http_ending(const std::string& who, std::string_view what, const http_ending& end);

/// Whether another try may help: nobody answered, or the server is overloaded or broken for now.
bool may_pass(const http_ending& end);

/// An exchange inside a session was refused unread, because the server does not know that session (any more): 404, or
/// 400 in words of it, as many servers have it that were restarted.
bool says_session_is_gone(const http_ending& end);

} // namespace quell::integrations
