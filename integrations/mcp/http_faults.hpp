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

} // namespace quell::integrations
