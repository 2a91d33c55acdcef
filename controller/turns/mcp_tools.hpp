// Names and times of tools that are not ours. Pure; for the .cpp files beside it.
#pragma once

#include <string>

#include "controller/turns/tool_catalogue.hpp"

namespace quell::controller::turns {

/// `mcp__SERVER__TOOL` in `[A-Za-z0-9_-]{1,64}`. Where something had to be changed or cut, or where the border between
/// the two names would not be clear, a hash of both follows: different tools have different names.
std::string mcp_offered_name(const std::string& server, const std::string& tool);

/// The configured time of a tool, or else the built-in one. `own_name`: a server's own name of it.
milliseconds time_of(const turn_settings& settings, const std::string& offered, const std::string& server,
                     const std::string& own_name);

} // namespace quell::controller::turns
