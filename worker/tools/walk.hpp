// Visits every file below a folder, in a fixed order, without following links.
#pragma once

#include <functional>
#include <string>

#include "protocol/fault.hpp"

namespace quell::worker::tools {

class workspace;

struct found_entry {
  std::string path; ///< relative to the workspace
  char type = 'f';  ///< f file, d folder, l link, o other
  std::uint64_t size = 0;
  int folder = -1;  ///< open descriptor of its folder
  std::string name; ///< in that folder
};

enum class walk_on : std::uint8_t { yes, not_into, stop };

/// Calls `visit` for each entry, folders before their content; names sorted. Skips `.git` and unreadable folders.
result<void> walk(const workspace& where, const std::string& path, std::size_t depth,
                  const std::function<walk_on(const found_entry&)>& visit);

} // namespace quell::worker::tools
