// Local messages to the MCP-host actor.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/turns/mcp_user.hpp"
#include "actors/turns/tool_gathering.hpp"
#include "integrations/mcp/mcp.hpp"

namespace quell::actors {

/// An agent needs the tools of these servers.
struct gather_tools {
  std::vector<std::string> servers;
  controller::turns::mcp_user user;
  std::function<void(controller::turns::offered_tools)> done;
};

/// A call needs this server; without one it gets the reason.
struct reach_server {
  std::string name;
  operation_id agent;
  std::function<void(std::shared_ptr<integrations::mcp_server> server, const std::string& why)> done;
};

/// The agent has ended.
struct mcp_user_over {
  operation_id agent;
};

/// The process has started: the cards of remote agents are read before turns need them.
struct read_cards {};

/// A user has logged in or out at this server.
struct login_changed {
  std::string server;
};

/// INTERNAL: an answer of a server, or its end, has arrived; `handle` runs on the actor's thread.
struct mcp_news {
  std::function<void()> handle;
};

} // namespace quell::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::gather_tools)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::reach_server)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::mcp_user_over)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::read_cards)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::login_changed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::mcp_news)
