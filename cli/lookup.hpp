// Resolves an id that a person typed (a whole id, or its tail) to one whole id, by asking the controller.
#pragma once

#include <string>
#include <vector>

#include "cli/api.hpp"

namespace quell::cli {

/// Problem `nothing` (exit 3) if no operation has this ending, `ambiguous` (exit 2) with the candidates, `usage` if it
/// cannot be an id. A whole id is returned as it is, without asking. Live operations are searched first; ended ones
/// only if none matches.
answer<std::string> find_operation(api& controller, const std::string& typed);
answer<std::string> find_cancel(api& controller, const std::string& typed);
answer<std::string> find_token(api& controller, const std::string& typed);
/// The standing approval with this id, or with this end of it.
answer<std::string> find_standing_approval(api& controller, const std::string& typed);
/// All of them, or the first problem.
answer<std::vector<std::string>> find_operations(api& controller, const std::vector<std::string>& typed);

} // namespace quell::cli
