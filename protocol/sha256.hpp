// SHA-256 as text.
#pragma once

#include <string>
#include <string_view>

namespace quell {

/// 64 hex digits, lower case. Throws std::runtime_error if the library cannot hash. Any thread.
std::string sha256_hex(std::string_view bytes);

} // namespace quell
