// Checks and cuts UTF-8 as defined by RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quell {

/// True for a byte within a character of UTF-8, behind its first.
constexpr bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// The first position from `at` on, at most the end, that is not within a character.
constexpr std::size_t character_boundary(std::string_view text, std::size_t at) {
  while (at < text.size() && continues_character(text[at])) ++at;
  return at;
}

/// True for valid UTF-8, the empty string and NUL bytes included.
bool is_utf8(std::string_view text);

/// The longest prefix of at most `most` bytes that ends between two characters. `text` is UTF-8.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

/// The number of characters in `text`, which is UTF-8.
std::uint64_t code_points(std::string_view text);

/// The bytes of the first `count` characters of `text`, or of all. `text` is UTF-8.
std::size_t bytes_of_characters(std::string_view text, std::uint64_t count);
/// `text` without its first `count` characters.
inline std::string_view without_characters(std::string_view text, std::uint64_t count) {
  return text.substr(bytes_of_characters(text, count));
}

} // namespace quell
