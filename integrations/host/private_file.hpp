// Files that only this user may read, replaced whole or not at all.
#pragma once

#include <string>

#include "protocol/fault.hpp"

namespace quell {

/// Writes `text` to `path` with mode 0600, completely or not at all (a temporary file and a rename).
result<void> write_private_file(const std::string& path, const std::string& text);

} // namespace quell
