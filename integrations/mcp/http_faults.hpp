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

/// An exchange inside a session was refused unread, perhaps because the server does not know that session (any more):
/// 404 by the protocol, 400 in any words by many servers that were restarted ("Server not initialized").
bool may_have_lost_the_session(const http_ending& end);

/// A probe was refused for its version, and that version is among those that the server offers: some do so once.
bool offers_stateless_version(const http_ending& end);

} // namespace quell::integrations
