// Limits the rights of a sub-agent: never more than its parent's, unless the configuration lists it in `may_spawn`.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/turns/settings.hpp"
#include "protocol/fault.hpp"

namespace quell::controller::turns {

/// The tools that an agent's settings give it. A command has those that any program on a worker has: `exec`.
std::vector<std::string> tools_given(const agent_settings& agent);

/// The first of `names` that is not in `owned`; `mcp:SERVER` in `owned` stands for all tools of that server.
std::optional<std::string> not_owned(const std::vector<std::string>& names, const std::vector<std::string>& owned);

/// `child` as a sub-agent of `parent`. One that `parent.may_spawn` lists is returned as configured. Any other must stay
/// within the parent's tools, workers, user and workspace: if it names no worker, user, label or workspace it takes the
/// parent's, and anything beyond is refused. Fault `invalid_input` for the model.
result<agent_settings> within_rights_of(const agent_settings& parent, agent_settings child);

} // namespace quell::controller::turns
