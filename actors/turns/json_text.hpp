// Serialises JSON as text that can always be sent.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace quell::controller::turns {

/// One line. Invalid UTF-8 becomes U+FFFD.
inline std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// A count in an object; 0 if there is none.
inline std::uint64_t count_at(const nlohmann::json& of, const char* key) {
  const auto at = of.find(key);
  return at != of.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

} // namespace quell::controller::turns
