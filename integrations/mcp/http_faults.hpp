// Faults for errors of MCP servers over HTTP; each says what to do.
#pragma once

#include <string>
#include <string_view>

#include "integrations/mcp/http_exchange.hpp"

namespace quell::integrations {

/// The fault for an exchange that ended without the awaited answer. `what` reads like "tool \"x\"".
fault of_http_ending(const std::string& who, std::string_view what, const http_ending& end);

/// Whether a retry can help: nothing answered, or the server is temporarily overloaded or broken.
bool may_pass(const http_ending& end);

/// Whether the server may have refused an exchange unread because it does not know the session (any more): the protocol
/// says 404, but many restarted servers send 400 with arbitrary text ("Server not initialized").
bool may_have_lost_the_session(const http_ending& end);

/// Whether a probe was refused for its version although the server offers that version: some servers do so once.
bool offers_stateless_version(const http_ending& end);

} // namespace quell::integrations
