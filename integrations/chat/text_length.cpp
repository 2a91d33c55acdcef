// The length of a text as a chat service counts it, and positions where it can be cut.
#include "integrations/chat/text_length.hpp"

#include <algorithm>

#include "protocol/utf8.hpp"

namespace quell::integrations::chat {
namespace {

/// The length that the code point with this lead byte adds; continuation bytes count only in `bytes`.
std::size_t weight(char lead, length_unit unit) {
  if (unit == length_unit::bytes) return 1;
  if (continues_character(lead)) return 0;
  return unit == length_unit::utf16 && static_cast<unsigned char>(lead) >= 0xf0 ? 2 : 1;
}

} // namespace

std::size_t length_of(std::string_view text, length_unit unit) {
  if (unit == length_unit::bytes) return text.size();
  std::size_t length = 0;
  for (const char c : text) length += weight(c, unit);
  return length;
}

std::size_t fitting(std::string_view text, std::size_t most, length_unit unit) {
  std::size_t length = 0, at = 0;
  while (at < text.size()) {
    const std::size_t end = character_boundary(text, at + 1);
    const std::size_t more = unit == length_unit::bytes ? end - at : weight(text[at], unit);
    if (length + more > most) break;
    length += more;
    at = end;
  }
  return at;
}

std::size_t good_cut(std::string_view text, std::size_t most, length_unit unit, std::size_t at_least) {
  const std::size_t fits = fitting(text, most, unit);
  if (fits >= text.size()) return text.size();
  const std::size_t floor = std::max(at_least, fits / 2);
  const auto within = text.substr(0, fits);
  for (const std::string_view border : {"\n\n", "\n", " "})
    if (const auto at = within.rfind(border); at != std::string_view::npos && at + border.size() > floor)
      return at + border.size();
  return fits;
}

} // namespace quell::integrations::chat
