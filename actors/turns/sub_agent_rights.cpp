// Compares the rights of two agents.
#include "actors/turns/sub_agent_rights.hpp"

#include "actors/turns/has_name.hpp"
#include "actors/turns/mcp_tools.hpp"
#include "actors/turns/tool_catalogue.hpp"
#include "protocol/failure_code.hpp"
#include "protocol/nearest.hpp"

namespace quell::controller::turns {
namespace {

tl::unexpected<fault> too_much(const agent_settings& child, const agent_settings& parent, const std::string& what) {
  return failure(failure_code::invalid_input, "`agent`: " + child.name + " " + what + ", which agent " + parent.name +
                                                  " may not; spawn another, or ask for \"" + child.name +
                                                  "\" in may_spawn of its configuration");
}

/// True if the path is `above` or lies below it; a path with `..` only if it equals `above`.
bool is_inside(const std::string& path, const std::string& above) {
  if (path.find("/../") != std::string::npos || path.ends_with("/..")) return path == above;
  return path == above || path.starts_with(above.ends_with('/') ? above : above + '/');
}

} // namespace

std::vector<std::string> tools_given(const agent_settings& agent) {
  if (agent.is_command()) return {"exec"};
  return agent.tools.value_or(default_tool_names());
}

std::optional<std::string> not_owned(const std::vector<std::string>& names, const std::vector<std::string>& owned) {
  for (const auto& name : names) {
    const bool is_owned = std::any_of(owned.begin(), owned.end(), [&](const std::string& o) {
      return o == name || (o == "exec" && goes_with_exec(name)) ||
             (is_remote_agent(o) && name == a2a_offered_name(o)) ||
             (is_remote_agent(name) && o == a2a_offered_name(name)) ||
             (o.starts_with("mcp:") && name.starts_with(mcp_names_of(o.substr(4))));
    });
    if (!is_owned) return name;
  }
  return std::nullopt;
}

result<agent_settings> within_rights_of(const agent_settings& parent, agent_settings child) {
  if (has_name(parent.may_spawn, child.name)) return child;
  const auto owned = tools_given(parent);
  if (const auto tool = not_owned(tools_given(child), owned))
    return too_much(child, parent, child.is_command() ? "runs a program" : "has the tool " + *tool);
  if (parent.worker) {
    if (child.worker && *child.worker != *parent.worker)
      return too_much(child, parent, "works on worker " + *child.worker);
    child.worker = parent.worker;
  }
  // Without a user the worker's usual one applies, which is not known here.
  if (child.user && child.user != parent.user) return too_much(child, parent, "runs as user " + *child.user);
  child.user = parent.user;
  for (const auto& [key, value] : parent.on)
    if (const auto [at, is_new] = child.on.emplace(key, value); !is_new && at->second != value)
      return too_much(child, parent, "works on workers with " + key + "=" + at->second);
  // Without a choice of its own it works where its parent works; out of the conversation's workspace leads no way.
  const bool is_confined = parent.mode != workspace_mode::shared;
  if (is_confined && child.chooses_workspace && child.mode == workspace_mode::shared)
    return too_much(child, parent, "works outside of the conversation's workspace");
  if (parent.mode == workspace_mode::per_turn && child.chooses_workspace && child.mode == workspace_mode::per_scope)
    return too_much(child, parent, "keeps a workspace from turn to turn");
  if (!child.chooses_workspace) {
    child.mode = parent.mode;
    child.workspace_quota = parent.workspace_quota;
    child.workspace_retention = parent.workspace_retention;
  }
  // A command line can reach any path; for file tools alone the workspace is the border.
  if (!has_name(owned, "exec") && child.mode == workspace_mode::shared) {
    if (!child.workspace) child.workspace = parent.workspace;
    if (child.workspace != parent.workspace && !(parent.workspace && is_inside(*child.workspace, *parent.workspace)))
      return too_much(child, parent, "works in " + *child.workspace);
  }
  // Through its own `may_spawn`, too, it reaches only what its parent reaches.
  std::erase_if(child.may_spawn, [&](const std::string& name) { return !has_name(parent.may_spawn, name); });
  return child;
}

} // namespace quell::controller::turns
