// Calls of tools whose work is done outside of quell, by a server or a remote agent. It does not end with the process
// that asked for it.
#pragma once

#include <string_view>

namespace quell::controller {

inline constexpr std::string_view mcp_tool_prefix = "mcp__", remote_agent_tool_prefix = "a2a__";

/// `tool_name`: of a tool_call, as the model knows it.
inline bool is_done_elsewhere(std::string_view tool_name) {
  return tool_name.starts_with(mcp_tool_prefix) || tool_name.starts_with(remote_agent_tool_prefix);
}

} // namespace quell::controller
