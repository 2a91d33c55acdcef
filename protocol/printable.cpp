// Judges each character by its code point.
#include "protocol/printable.hpp"

#include <algorithm>
#include <array>

#include "protocol/utf8.hpp"

namespace quell {

std::string_view first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  const auto whole = text.substr(0, length);
  return whole.size() == length && is_utf8(whole) ? whole : text.substr(0, 1);
}

char32_t code_point(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return lead < 0x80 ? lead : 0xfffd;
  char32_t code = lead & (character.size() == 2 ? 0x1f : character.size() == 3 ? 0x0f : 0x07);
  for (const char c : character.substr(1)) code = (code << 6) | (static_cast<unsigned char>(c) & 0x3f);
  return code;
}

shown_as look_of(char32_t c) {
  struct range {
    char32_t first, last;
  };
  constexpr auto unseen = std::to_array<range>({{0, 0x1f},
                                                {0x7f, 0x9f},
                                                {0xad, 0xad},
                                                {0x34f, 0x34f},
                                                {0x61c, 0x61c},
                                                {0x115f, 0x1160},
                                                {0x17b4, 0x17b5},
                                                {0x180b, 0x180f},
                                                {0x200b, 0x200f},
                                                {0x2028, 0x202e},
                                                {0x2060, 0x206f},
                                                {0x3164, 0x3164},
                                                {0xfeff, 0xfeff},
                                                {0xffa0, 0xffa0},
                                                {0xfff0, 0xfffb},
                                                {0x1bca0, 0x1bca3},
                                                {0x1d173, 0x1d17a},
                                                {0xe0000, 0xe0fff}});
  if (c >= 0xfe00 && c <= 0xfe0f)
    return shown_as::left_out; // variation selectors of the character before: common in emoji
  const bool is_unseen =
      std::any_of(unseen.begin(), unseen.end(), [c](range r) { return c >= r.first && c <= r.last; });
  return is_unseen ? shown_as::replaced : shown_as::plain;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto character = first_character(text);
    text.remove_prefix(character.size());
    const auto code = code_point(character);
    switch (look_of(code)) {
    case shown_as::plain:
      out += is_utf8(character) ? character : "?";
      break;
    case shown_as::replaced:
      out.append(code < 0xa0 ? character.size() : 1, '?');
      break;
    case shown_as::left_out:
      break;
    }
  }
  return out;
}

} // namespace quell
