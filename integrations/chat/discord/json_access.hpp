// Access to JSON of unknown shape. For .cpp files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace quell::integrations::chat::discord {

/// The member, or null if `object` is not an object or has no such member.
inline const nlohmann::json& member_of(const nlohmann::json& object, const char* key) {
  static const nlohmann::json nothing;
  if (!object.is_object()) return nothing;
  const auto at = object.find(key);
  return at == object.end() ? nothing : *at;
}

/// The member if it is a string, otherwise "".
inline std::string text_of(const nlohmann::json& object, const char* key) {
  const auto& value = member_of(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// JSON text; invalid UTF-8 is replaced.
inline std::string written(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace quell::integrations::chat::discord
