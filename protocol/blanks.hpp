// Blanks at the ends of a text, and texts of nothing else.
#pragma once

#include <string_view>

namespace quell {

/// The text without spaces, tabs and line breaks at its ends: a view into `text`.
constexpr std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Whether the text has nothing but blanks, vertical ones included: a message that says nothing.
constexpr bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

} // namespace quell
