// The JSON type of this folder. For its .cpp files and their tests.
#pragma once

#include <nlohmann/json.hpp>

namespace quell::cli::mcp {

using nlohmann::json;

} // namespace quell::cli::mcp
