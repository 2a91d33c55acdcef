// The tools of one agent, bounded in number.
#include <algorithm>
#include <set>

#include "actors/turns/has_name.hpp"
#include "actors/turns/mcp_tools.hpp"
#include "actors/turns/tool_catalogue.hpp"
#include "protocol/nearest.hpp"

namespace quell::controller::turns {
namespace {

/// True if the list of an agent (absent: the built-in tools) contains this tool.
bool wants(const agent_settings& agent, const tool_definition& tool) {
  if (!agent.tools) return tool.mcp_server.empty() && !must_be_named(tool.offer.name);
  if (tool.mcp_server.empty() && goes_with_exec(tool.offer.name) && has_name(*agent.tools, "exec")) return true;
  if (tool.is_remote_agent()) return has_name(*agent.tools, tool.mcp_server) || has_name(*agent.tools, tool.offer.name);
  return has_name(*agent.tools, tool.offer.name) ||
         (!tool.mcp_server.empty() && (has_name(*agent.tools, "mcp:" + tool.mcp_server) ||
                                       has_name(*agent.tools, mcp_names_of(tool.mcp_server) + tool.mcp_tool)));
}

std::string seconds(milliseconds time) { return std::to_string((time.count() + 999) / 1000) + " s"; }

/// The agent's own limits of exec, which the model is told.
void limit_exec(tool_definition& exec, const agent_settings& agent) {
  if (agent.exec_timeout) exec.timeout = *agent.exec_timeout;
  exec.most_timeout = agent.exec_timeout_max;
  if (exec.most_timeout.count() > 0 && (exec.timeout.count() == 0 || exec.timeout > exec.most_timeout))
    exec.timeout = exec.most_timeout;
  if (exec.timeout.count() > 0)
    exec.offer.description += " It is stopped after " + seconds(exec.timeout) + " unless `timeout_ms` says otherwise.";
  if (exec.most_timeout.count() > 0)
    exec.offer.description += " More than " + seconds(exec.most_timeout) + " are never given, also not in background.";
}

} // namespace

const tool_definition* tool_set::find(std::string_view offered_name) const {
  const auto at = std::find_if(tools.begin(), tools.end(), [&](const auto& t) { return t.offer.name == offered_name; });
  return at == tools.end() ? nullptr : &*at;
}

std::vector<tool_offer> tool_set::offers() const {
  std::vector<tool_offer> all;
  for (const auto& t : tools) all.push_back(t.offer);
  return all;
}

std::vector<std::string> mcp_servers_of(const turn_settings& settings, const agent_settings& agent) {
  std::vector<std::string> servers;
  if (!agent.tools) return servers;
  for (const auto& server : settings.mcp)
    if (std::any_of(agent.tools->begin(), agent.tools->end(), [&](const std::string& name) {
          if (is_remote_agent(server.name)) return name == server.name || name == a2a_offered_name(server.name);
          return name == "mcp:" + server.name || name.starts_with(mcp_names_of(server.name));
        }))
      servers.push_back(server.name);
  return servers;
}

tool_set tools_for(const turn_settings& settings, const agent_settings& agent,
                   const std::vector<tool_definition>& of_mcp) {
  tool_set set;
  std::set<std::string> taken;
  std::vector<std::string> twice, beyond;
  auto offered = built_in_tools(settings);
  offered.insert(offered.end(), of_mcp.begin(), of_mcp.end());
  for (auto& tool : offered) {
    if (!wants(agent, tool)) continue;
    if (tool.mcp_server.empty() && tool.offer.name == "exec") limit_exec(tool, agent);
    if (taken.count(tool.offer.name)) {
      twice.push_back(tool.offer.name);
    } else if (set.tools.size() == most_offers) {
      beyond.push_back(tool.offer.name);
    } else {
      taken.insert(tool.offer.name);
      set.tools.push_back(std::move(tool));
    }
  }
  if (!beyond.empty())
    set.note = std::to_string(beyond.size()) + " tools are not offered to agent " + agent.name + ", as " +
               std::to_string(most_offers) + " are the most: " + listed(beyond) +
               ". Name the tools that it needs in its `tools`.";
  if (!twice.empty())
    set.note += (set.note.empty() ? "" : " ") + std::string("Named twice by a server, and offered once: ") +
                listed(twice) + ".";
  return set;
}

} // namespace quell::controller::turns
