// Checks and cuts UTF-8 as defined by RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quell {

/// True for valid UTF-8, the empty string and NUL bytes included.
bool is_utf8(std::string_view text);

/// The longest prefix of at most `most` bytes that ends between two characters. `text` is UTF-8.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

/// The number of characters in `text`, which is UTF-8.
std::uint64_t code_points(std::string_view text);

} // namespace quell
