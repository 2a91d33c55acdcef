// Decides for each letter with one mark whether the mark is an accent or a part of the letter.
#include "actors/turns/unaccented.hpp"

#include <utf8proc.h>

namespace quell::controller::chat {

namespace {

bool is_mark(char32_t c) { return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class != 0; }

bool is_left_out(char32_t letter, char32_t mark) {
  if (letter >= 'a' && letter <= 'z')
    return mark == 0x300 || mark == 0x301 || mark == 0x302 || (mark == 0x303 && letter != 'n') || mark == 0x306 ||
           mark == 0x30C || (mark >= 0x326 && mark <= 0x328);   // à á â ã ă č ș ç ą
  if (letter >= 0x3B1 && letter <= 0x3C9) return mark == 0x301; // Greek
  if (letter == 0x435) return mark == 0x308;                    // ё
  return letter == 0x627 && mark >= 0x653 && mark <= 0x655;     // the alefs of Arabic
}

} // namespace

std::u32string unaccented(const std::u32string& word) {
  std::u32string out;
  for (std::size_t at = 0; at < word.size();) {
    std::size_t end = at + 1;
    while (end < word.size() && is_mark(word[end])) ++end;
    if (end == at + 2 && is_left_out(word[at], word[at + 1]))
      out += word[at];
    else
      out.append(word, at, end - at);
    at = end;
  }
  return out;
}

} // namespace quell::controller::chat
