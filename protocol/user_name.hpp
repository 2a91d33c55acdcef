// Checks the name of a user on a worker, whether or not that user exists. Pure.
#pragma once

#include <algorithm>
#include <string_view>

namespace quell {

/// 1 to 32 of A-Z a-z 0-9 _ - . $, not beginning with a dash, so that no program takes it for an option.
inline bool is_user_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '$';
  };
  return !name.empty() && name.size() <= 32 && name.front() != '-' && std::all_of(name.begin(), name.end(), plain);
}

} // namespace quell
