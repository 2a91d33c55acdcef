// The user of MCP servers: a turn, or a sub-agent in it.
#pragma once

#include "controller/records/records.hpp"
#include "protocol/id.hpp"

namespace quell::controller::turns {

struct mcp_user {
  operation_id agent;  ///< the turn or sub-agent
  operation_id parent; ///< the registered operation that is the parent of the user's own servers: the turn, or the
                       ///< sub-agent's call
  records::person owner;
};

} // namespace quell::controller::turns
