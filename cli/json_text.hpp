// JSON as it may be shown on a terminal.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace quell::cli {

/// `to_line` (fields.hpp) over several lines where `indent` is not negative. What `printable` replaces is escaped.
std::string to_text(const nlohmann::json& value, int indent);

} // namespace quell::cli
