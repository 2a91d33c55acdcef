// The tools offered to an agent: their descriptions for the model, how they run, how long they may take. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/turns/settings.hpp"
#include "protocol/model_stream.hpp"
#include "protocol/time.hpp"

namespace quell::controller::turns {

struct tool_definition {
  enum class runs : std::uint8_t { task, sub_agent, session_status, mcp, background, question, web_search };
  tool_offer offer;
  bool exclusive = false;
  /// 0 = none; includes the configuration, but not the timeout that a single call requests.
  milliseconds timeout{120'000};
  milliseconds most_timeout{0}; ///< the most that a call can ask for; 0 = no limit
  runs how = runs::task;
  std::string mcp_server, mcp_tool; ///< mcp: the server's name here, and the server's own name of the tool

  bool is_remote_agent() const { return turns::is_remote_agent(mcp_server); }
};

constexpr std::size_t most_offers = 128;

/// exec, read, write, edit, list, search, web_fetch, spawn_agent, session_status, and the three about commands in the
/// background, which belong to exec: task_output, task_wait, task_kill. And for agents that name them ask_user, and
/// web_search if it is configured.
std::vector<tool_definition> built_in_tools(const turn_settings& settings);
bool is_built_in_tool(std::string_view name);
/// It waits for a person, or tells others what it searches and may cost money: only agents get it that name it.
bool must_be_named(std::string_view name);
/// One of the tools that every agent with exec has.
bool goes_with_exec(std::string_view name);
const std::vector<std::string>& built_in_tool_names();
/// Those of an agent that names no tools.
const std::vector<std::string>& default_tool_names();

/// An MCP server's description of one of its tools.
struct mcp_tool_facts {
  std::string name, description;
  std::string input_schema; ///< JSON text; an unreadable one allows anything
  bool read_only = false;   ///< readOnlyHint
  bool destructive = false; ///< destructiveHint; if the server omits it, false
};
/// Offered as `mcp__SERVER__TOOL` in `[A-Za-z0-9_-]{1,64}`: equal names for the same two names, different ones
/// otherwise. A remote agent has one tool, `a2a__NAME`.
tool_definition mcp_tool_definition(const turn_settings& settings, const std::string& server,
                                    const mcp_tool_facts& facts);

/// The tools of one agent.
struct tool_set {
  std::vector<tool_definition> tools; ///< at most `most_offers`, each name once
  std::string note;                   ///< which tools were left out and why; "" = none. For the log and the operation
  std::string notice;                 ///< the part of that for the model; "" = none

  const tool_definition* find(std::string_view offered_name) const;
  std::vector<tool_offer> offers() const;
};
/// `of_mcp`: the tools of the servers that `mcp_servers_of(agent)` names, in order.
tool_set tools_for(const turn_settings& settings, const agent_settings& agent,
                   const std::vector<tool_definition>& of_mcp);
/// The MCP servers whose tools must be known before this agent can be offered its own.
std::vector<std::string> mcp_servers_of(const turn_settings& settings, const agent_settings& agent);

} // namespace quell::controller::turns
