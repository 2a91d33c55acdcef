// Names and timeouts of MCP tools. Pure; for the .cpp files beside it.
#pragma once

#include <string>

#include "actors/turns/tool_catalogue.hpp"

namespace quell::controller::turns {

/// The beginning of the names of this server's tools, `mcp__SERVER__`.
std::string mcp_names_of(const std::string& server);

/// `mcp__SERVER__TOOL` in `[A-Za-z0-9_-]{1,64}`. A hash of both names follows if something had to be changed or cut, or
/// if the border between the two names would be ambiguous: different tools have different names.
std::string mcp_offered_name(const std::string& server, const std::string& tool);

/// `a2a__NAME` for the server `a2a:NAME`, in `[A-Za-z0-9_-]{1,64}`.
std::string a2a_offered_name(const std::string& server);

/// The configured timeout of a tool, else the built-in one. `own_name`: the server's own name of the tool.
milliseconds time_of(const turn_settings& settings, const std::string& offered, const std::string& server,
                     const std::string& own_name);

} // namespace quell::controller::turns
