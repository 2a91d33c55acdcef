// Helpers shared by the readers of metadata documents.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/models/text.hpp"

namespace quell::integrations::oauth {

inline bool has(const std::vector<std::string>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// The beginning of foreign text in quotation marks, for use in a fault.
inline std::string shown(const std::string& text) { return "\"" + excerpt(text, 200) + "\""; }

} // namespace quell::integrations::oauth
