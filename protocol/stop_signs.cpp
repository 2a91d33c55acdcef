// Goes through the characters; only those at the beginnings of lines are looked at closely.
#include "protocol/stop_signs.hpp"

#include <algorithm>
#include <array>

#include "protocol/printable.hpp"

namespace quell {
namespace {

constexpr std::string_view replacement = "•";
constexpr std::array<std::string_view, 6> signs{
    "⏹", "🛑", ":stop_sign:", ":octagonal_sign:", ":stop_button:", ":black_square_for_stop:"};

bool ends_line(char32_t c) { return (c >= 0x0a && c <= 0x0d) || c == 0x85 || c == 0x2028 || c == 0x2029; }

/// Whether people see more of it than a blank, a point or a stroke: a letter, a digit, a picture.
bool is_shown(char32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  struct range {
    char32_t first, last;
  };
  constexpr std::array<range, 8> faint{{{0xa0, 0xa0},
                                        {0x300, 0x36f},
                                        {0x1680, 0x1680},
                                        {0x2000, 0x206f},
                                        {0x20d0, 0x20ff},
                                        {0x2800, 0x2800},
                                        {0x3000, 0x3000},
                                        {0xfe20, 0xfe2f}}};
  return look_of(c) == shown_as::plain &&
         std::none_of(faint.begin(), faint.end(), [c](const range& one) { return c >= one.first && c <= one.last; });
}

/// The bytes of the sign with which `text` begins; 0 = none.
std::size_t sign_at(std::string_view text) {
  const auto found =
      std::find_if(signs.begin(), signs.end(), [text](std::string_view sign) { return text.starts_with(sign); });
  return found == signs.end() ? 0 : found->size();
}

} // namespace

std::string stop_sign_filter::pass(std::string_view piece) {
  std::string made;
  made.reserve(piece.size());
  while (!piece.empty()) {
    if (const auto sign = is_at_beginning_ ? sign_at(piece) : 0; sign > 0) {
      made += replacement;
      piece.remove_prefix(sign);
      continue;
    }
    const auto character = first_character(piece);
    const auto c = code_point(character);
    is_at_beginning_ = ends_line(c) || (is_at_beginning_ && !is_shown(c));
    made += character;
    piece.remove_prefix(character.size());
  }
  return made;
}

std::string without_stop_signs(std::string_view text) { return stop_sign_filter{}.pass(text); }

} // namespace quell
