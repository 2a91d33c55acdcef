// What a configuration holds that nobody can reach, for those who check it. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/turns/settings.hpp"

namespace quell::controller::turns {

/// A sentence each, in the order of the configuration: agents that no scope leads to, models that no agent uses, MCP
/// servers whose tools no agent has. None of it is an error: an agent can be named in a message.
std::vector<std::string> what_cannot_be_reached(const turn_settings& settings);

} // namespace quell::controller::turns
