// Images and documents that a tool answered with, on their way to the blobs.
#pragma once

#include <functional>
#include <vector>

#include "controller/blob_store.hpp"
#include "integrations/mcp/mcp.hpp"
#include "protocol/attachment.hpp"

namespace quell::controller::turns {

/// Stores them for the scope, one after the other; `done` gets those that were stored. On any thread; at once if there
/// is nothing to store. `blobs` may be nullptr.
void store_media(blob_store* blobs, const scope_path& scope, std::vector<integrations::mcp_media> media,
                 std::function<void(const attachments&)> done);

} // namespace quell::controller::turns
