// Images and documents in the result of a tool. For the .cpp files of this room.
#pragma once

#include <vector>

#include "integrations/mcp/mcp.hpp"
#include "integrations/models/json.hpp"

namespace quell::integrations::mcp {

/// Takes them out of `content`; a line of text stands in the place of each. A file that differs from its stated type
/// stays there as a line only.
std::vector<mcp_media> take_media(json& content);

} // namespace quell::integrations::mcp
