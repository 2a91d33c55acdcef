// Tool parameters that the newest version wants in headers too (`x-mcp-header` in the input schema), so that
// intermediaries can route by them. For the .cpp files of this room.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "integrations/models/json.hpp"
#include "protocol/fault.hpp"

namespace quell::integrations::mcp {

/// (property of the input, header name after `Mcp-Param-`)
using param_headers = std::vector<std::pair<std::string, std::string>>;

/// Fault: the tool must not be used, because a name is not valid in a header, occurs twice, or belongs to a property
/// that is not a string, integer or boolean.
result<param_headers> param_headers_of(const json& input_schema);

/// Whole header lines for this input; null and absent properties have none.
std::vector<std::string> param_header_lines(const param_headers& wanted, const json& input);

/// The text itself if it is valid in a header, otherwise in base64 as the version specifies.
std::string header_value(std::string_view text);

} // namespace quell::integrations::mcp
