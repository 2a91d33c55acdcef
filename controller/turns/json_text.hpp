// JSON as text that can always be sent on.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace quell::controller::turns {

/// One line. Bytes that are no UTF-8 become U+FFFD.
inline std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace quell::controller::turns
