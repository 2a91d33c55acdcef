// A remote agent over A2A 1.0 as a server of one tool, with the interface and the rules of MCP servers (mcp.hpp).
//
// Owns one thread and its connections; listeners, replies and late outcomes are called on that thread and must only
// hand over. The codes of faults begin with `a2a_` instead of `mcp_`; `a2a_lost`: the agent has forgotten the task.
#pragma once

#include <memory>
#include <string>

#include "integrations/mcp/mcp.hpp"

namespace quell::integrations {

struct a2a_options {
  std::string ca_file; ///< PEM of authorities; "": QUELL_CA_FILE, else CURL_CA_BUNDLE, else the system's
};

/// `name`: the agent's name in the configuration. `key`: sent as a bearer token to the server of `url` and to no other;
/// "" = none; never in a fault or a log. The destructor cancels nothing. Fault: not an http(s) URL, or a key that is
/// not valid in a header.
result<std::unique_ptr<mcp_server>> a2a_agent_server(std::string name, std::string url, std::string key,
                                                     a2a_options options = {});

} // namespace quell::integrations
