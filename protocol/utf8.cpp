// The table of RFC 3629, section 4, as code.
#include "protocol/utf8.hpp"

#include <cstring>

namespace quell {

bool is_utf8(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto within = [](unsigned char b, unsigned char low, unsigned char high) { return b >= low && b <= high; };
  std::size_t i = 0;
  while (i < text.size()) {
    // Most text is ASCII: eight bytes at a time.
    if (std::uint64_t word = 0; text.size() - i >= sizeof word) {
      std::memcpy(&word, text.data() + i, sizeof word);
      if ((word & 0x8080808080808080ULL) == 0) {
        i += sizeof word;
        continue;
      }
    }
    const unsigned char lead = byte(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = within(lead, 0xc2, 0xdf)   ? 2
                               : within(lead, 0xe0, 0xef) ? 3
                               : within(lead, 0xf0, 0xf4) ? 4
                                                          : 0;
    if (length == 0 || text.size() - i < length) return false;
    const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;  // below: overlong
    const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf; // above: a surrogate, or past U+10FFFF
    if (!within(byte(i + 1), low, high)) return false;
    for (std::size_t k = 2; k < length; ++k)
      if (!within(byte(i + k), 0x80, 0xbf)) return false;
    i += length;
  }
  return true;
}

std::string_view utf8_prefix(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && continues_character(text[most])) --most;
  return text.substr(0, most);
}

std::uint64_t code_points(std::string_view text) {
  std::uint64_t count = 0;
  for (const char c : text) count += continues_character(c) ? 0 : 1;
  return count;
}

std::size_t bytes_of_characters(std::string_view text, std::uint64_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if (!continues_character(text[at]) && count-- == 0) break;
  return at;
}

} // namespace quell
