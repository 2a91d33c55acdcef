// The session's private types, kept out of its header because they contain JSON. For its .cpp files only.
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
