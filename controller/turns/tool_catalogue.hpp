// The tools that an agent is offered: what the model is told about each, how it runs, how long it may take. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/turns/settings.hpp"
#include "protocol/model_stream.hpp"
#include "protocol/time.hpp"

namespace quell::controller::turns {

struct tool_definition {
  enum class runs : std::uint8_t { task, sub_agent, session_status, mcp };
  tool_offer offer;
  bool exclusive = false;
  milliseconds timeout{120'000}; ///< 0 = none; the configuration is in it, one call's own wish is not
  runs how = runs::task;
  std::string mcp_server, mcp_tool; ///< mcp: the server's name here, and the server's own name of the tool
};

constexpr std::size_t most_offers = 128;

/// exec, read, write, edit, list, search, web_fetch, spawn_agent, session_status.
std::vector<tool_definition> built_in_tools(const turn_settings& settings);
bool is_built_in_tool(std::string_view name);
const std::vector<std::string>& built_in_tool_names();

/// What an MCP server says about a tool of its own.
struct mcp_tool_facts {
  std::string name, description;
  std::string input_schema; ///< JSON text; whatever cannot be read allows anything
  bool read_only = false;   ///< readOnlyHint
  bool destructive = false; ///< destructiveHint, as the server says it: absent is false here
};
/// Offered as `mcp__SERVER__TOOL` in `[A-Za-z0-9_-]{1,64}`: the same for the same two names, another for others.
tool_definition mcp_tool_definition(const turn_settings& settings, const std::string& server,
                                    const mcp_tool_facts& facts);

/// What one agent has.
struct tool_set {
  std::vector<tool_definition> tools; ///< at most `most_offers`, each name once
  std::string note;                   ///< what was left out and why; "" = nothing. For the log and the operation
  std::string notice;                 ///< what the model is told of that; "" = nothing

  const tool_definition* find(std::string_view offered_name) const;
  std::vector<tool_offer> offers() const;
};
/// `of_mcp`: what the servers that `mcp_servers_of(agent)` names have, in order.
tool_set tools_for(const turn_settings& settings, const agent_settings& agent,
                   const std::vector<tool_definition>& of_mcp);
/// The MCP servers that have to be asked for their tools before this agent can be offered its own.
std::vector<std::string> mcp_servers_of(const turn_settings& settings, const agent_settings& agent);

} // namespace quell::controller::turns
