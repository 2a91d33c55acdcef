// JSON in a form that is safe to show on a terminal.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace quell::cli {

/// `to_line` (fields.hpp) over several lines if `indent` is not negative. Characters that `printable` would replace are
/// escaped.
std::string to_text(const nlohmann::json& value, int indent);

} // namespace quell::cli
