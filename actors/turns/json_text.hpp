// Serialises JSON as text that can always be sent.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace quell::controller::turns {

/// One line. Invalid UTF-8 becomes U+FFFD.
inline std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace quell::controller::turns
