// Text of others, made fit to be shown on a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quell {

enum class shown_as : std::uint8_t { plain, replaced, left_out };

/// The bytes of the first character; one byte if it is not valid UTF-8. `text` is not empty.
std::string_view first_character(std::string_view text);
/// U+FFFD for a byte that is not UTF-8.
char32_t code_point(std::string_view character);
/// Finds characters that a terminal does not show as themselves: controls, marks that change the direction of the text,
/// and characters without width, which would make two texts look the same.
shown_as look_of(char32_t c);

/// The text with control characters (including a terminal's escapes) and invisible ones replaced by `?`.
std::string printable(std::string_view text);

} // namespace quell
