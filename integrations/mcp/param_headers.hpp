// Parameters of tools that the newest version wants in headers too (`x-mcp-header` in the schema of an input), so that
// what stands between can route by them. For .cpp files of this room.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "integrations/models/json.hpp"
#include "protocol/fault.hpp"

namespace quell::integrations::mcp {

/// (property of the input, name behind `Mcp-Param-`)
using param_headers = std::vector<std::pair<std::string, std::string>>;

/// Fault: a tool that must not be used, because a name is none that a header can have, comes twice, or belongs to what
/// is no string, integer or boolean.
result<param_headers> param_headers_of(const json& input_schema);

/// Whole header lines for this input; what is null or absent has none.
std::vector<std::string> param_header_lines(const param_headers& wanted, const json& input);

/// As it is if a header can hold it, else in base64 as the version says.
std::string header_value(std::string_view text);

} // namespace quell::integrations::mcp
