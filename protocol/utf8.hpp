// Text as UTF-8: whether bytes are some, as RFC 3629 has it: no surrogates, nothing overlong, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quell {

/// True for valid UTF-8, the empty string and NUL bytes included.
bool is_utf8(std::string_view text);

/// The longest beginning of at most `most` bytes that ends between two characters. `text` is UTF-8.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

/// How many characters `text`, which is UTF-8, has.
std::uint64_t code_points(std::string_view text);

} // namespace quell
