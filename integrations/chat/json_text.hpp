// Texts in what services and quell's own events say.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace quell::integrations::chat {

/// The text of this name; "" if there is none, or if it or `from` is something else.
inline std::string text_of(const nlohmann::json& from, const char* name) {
  const auto found = from.find(name);
  return found != from.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

} // namespace quell::integrations::chat
