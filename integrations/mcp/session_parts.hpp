// What only the .cpp files of the session see, because it holds JSON.
#pragma once

#include "integrations/mcp/answers.hpp"
#include "integrations/mcp/messages.hpp"
#include "integrations/mcp/session.hpp"

namespace quell::integrations {

struct mcp_session::incoming {
  rpc::message message;
};

struct mcp_session::pages {
  mcp::tool_pages read;
};

} // namespace quell::integrations
