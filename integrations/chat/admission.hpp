// Decides who may speak to the bot: a chat is closed until its configuration opens it. Pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace quell::integrations::chat {

/// `*` in a list matches everything.
inline bool is_listed(const std::vector<std::string>& list, std::string_view one) {
  return std::any_of(list.begin(), list.end(), [one](const std::string& l) { return l == "*" || l == one; });
}

/// Admits everybody in one of the `places`, and the `users` everywhere. `place` "": not a place that could be listed (a
/// direct message); `user` "": the identity is not certain.
inline bool is_admitted(const std::vector<std::string>& places, const std::vector<std::string>& users,
                        std::string_view place, std::string_view user) {
  return (!place.empty() && is_listed(places, place)) ||
         (user.empty() ? std::find(users.begin(), users.end(), "*") != users.end() : is_listed(users, user));
}

} // namespace quell::integrations::chat
