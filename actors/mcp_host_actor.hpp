// Starts the MCP-host actor, to which the MCP servers and remote agents of the process belong.
#pragma once

#include <memory>

#include "actors/interfaces.hpp"
#include "actors/turns/mcp_host.hpp"
#include "actors/turns/mcp_servers.hpp"

namespace caf {
class actor_system;
}

namespace quell::actors {

/// The host of a process. A step that throws is logged and ends only what it was for: its caller is answered without
/// tools or without a server. `system` must live until the host's `end`, which waits for the step that runs; it is not
/// called from a step.
std::shared_ptr<controller::turns::mcp_host>
spawn_mcp_host(caf::actor_system& system, controller::turns::mcp_parts parts,
               controller::turns::connect_mcp_server connect = controller::turns::connect_over_http);

} // namespace quell::actors
