// What may name a user of a worker, whether it exists there or not. Pure.
#pragma once

#include <algorithm>
#include <string_view>

namespace quell::controller {

/// 1 to 32 of A-Z a-z 0-9 _ - . $ that do not begin with a dash: never an option of a program that it is given to.
inline bool is_user_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '$';
  };
  return !name.empty() && name.size() <= 32 && name.front() != '-' && std::all_of(name.begin(), name.end(), plain);
}

} // namespace quell::controller
