// What the readers of other people's metadata share.
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

/// As a fault quotes what others wrote: its beginning, in quotation marks.
inline std::string shown(const std::string& text) { return "\"" + excerpt(text, 200) + "\""; }

} // namespace quell::integrations::oauth
