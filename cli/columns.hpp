// Text as a terminal shows it: its width (with wide and combining characters), cutting, and replacing unsafe
// characters. Pure except for the locale, which determines a character's width.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quell::cli {

/// The characters that a terminal can show.
enum class character_set : std::uint8_t { ascii, utf8 };

/// The width of a line in columns; colour escapes (`painted`) count nothing.
std::size_t columns_of(std::string_view text);
/// Cut to at most `columns`, ending in `…` or `~` if text is missing.
std::string cut_columns(std::string_view text, std::size_t columns, character_set shown);
/// Text from others, on one line: line breaks and tabs become one space, other control characters `?`.
std::string one_line(std::string_view text);
/// Text from others, with its line breaks and tabs; every other control character (a terminal's escapes) becomes `?`.
std::string safe_text(std::string_view text);

} // namespace quell::cli
