// Access to JSON of unknown shape. For .cpp files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "integrations/chat/json_text.hpp"

namespace quell::integrations::chat::discord {

/// JSON text; invalid UTF-8 is replaced.
inline std::string written(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace quell::integrations::chat::discord
