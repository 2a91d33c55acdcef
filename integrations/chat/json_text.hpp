// Reads text members from services' messages and from quell's own events.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace quell::integrations::chat {

/// The member of this name if it is text; "" if it is absent or of another type, or if `from` is not an object.
inline std::string text_of(const nlohmann::json& from, const char* name) {
  const auto found = from.find(name);
  return found != from.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

} // namespace quell::integrations::chat
