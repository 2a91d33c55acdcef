// Whether bytes are UTF-8, as RFC 3629 has it: no surrogates, nothing overlong, nothing above U+10FFFF.
#pragma once

#include <string_view>

namespace quell {

/// True for valid UTF-8, the empty string and NUL bytes included.
bool is_utf8(std::string_view text);

} // namespace quell
