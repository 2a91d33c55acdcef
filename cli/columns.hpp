// Text as a terminal shows it: columns taken (wide and combining characters included), cutting, and what is safe to
// print. Pure but for the locale, which says how wide a character is.
#pragma once

#include <string>
#include <string_view>

namespace quell::cli {

/// Columns that a line takes; colour escapes (`painted`) take none.
std::size_t columns_of(std::string_view text);
/// Cut to at most `columns`, ending in `…` or `~` where something is missing.
std::string cut_columns(std::string_view text, std::size_t columns, bool utf8);
/// What others wrote, on one line: line breaks and tabs become one space, other control characters `?`.
std::string one_line(std::string_view text);
/// What others wrote, with its line breaks and tabs; every other control character (a terminal's escapes) is `?`.
std::string safe_text(std::string_view text);

} // namespace quell::cli
