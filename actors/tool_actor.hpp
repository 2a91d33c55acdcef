// Starts a tool actor below an agent.
#pragma once

#include <memory>

#include "actors/agent/tool_run.hpp"
#include "actors/interfaces.hpp"

namespace caf {
class scheduled_actor;
}

namespace quell::actors {

struct tool_start {
  call_number number = 0;
  operation_id call;
  tool_call what;
  std::shared_ptr<agent_port> port;
  std::unique_ptr<tool_work> work;
  agent_actor agent;
};

/// Linked to `above`: it dies with the agent. If it dies alone, the agent gets its exit.
tool_actor spawn_tool(caf::scheduled_actor& above, tool_start start);

} // namespace quell::actors
