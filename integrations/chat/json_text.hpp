// Reads members of services' messages and of quell's own events, which can have any shape.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace quell::integrations::chat {

/// The member of this name if it is text; "" if it is absent or of another type, or if `from` is not an object.
inline std::string text_of(const nlohmann::json& from, const char* name) {
  const auto found = from.find(name);
  return found != from.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

/// The member of this name; null if it is absent, or if `from` is not an object.
inline const nlohmann::json& member_of(const nlohmann::json& from, const char* name) {
  static const nlohmann::json nothing;
  const auto found = from.find(name);
  return found != from.end() ? *found : nothing;
}

/// The member of this name if it is an object; an empty one otherwise.
inline const nlohmann::json& member(const nlohmann::json& from, const char* name) {
  static const auto nothing = nlohmann::json::object();
  const auto& found = member_of(from, name);
  return found.is_object() ? found : nothing;
}

} // namespace quell::integrations::chat
