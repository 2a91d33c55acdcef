// Finds unreachable parts of a configuration, and limits that limit nothing, for those who check it. Pure.
#pragma once

#include <string>
#include <vector>

#include "actors/turns/settings.hpp"

namespace quell::controller::turns {

/// One sentence each, in the order of the configuration: agents that no scope leads to, models that no agent uses, MCP
/// servers whose tools no agent has, places where nobody may speak or whose agents serve no scope there. These are not
/// errors: a message can name an agent.
std::vector<std::string> what_cannot_be_reached(const turn_settings& settings);

/// One sentence for each agent and model whose calls no max_cost ends, because the model has no price: fallback models
/// and those that a message can ask for, too. Not an error: a model can be free.
std::vector<std::string> what_costs_nothing(const turn_settings& settings);

} // namespace quell::controller::turns
