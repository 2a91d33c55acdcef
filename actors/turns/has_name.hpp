// Looks a name up in a list of the configuration.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace quell::controller::turns {

inline bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

} // namespace quell::controller::turns
