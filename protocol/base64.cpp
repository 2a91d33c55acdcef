// Encodes six bits at a time.
#include "protocol/base64.hpp"

#include <cstdint>

namespace quell {

namespace {

std::string encoded(std::string_view bytes, std::string_view digits) {
  std::string text;
  text.reserve(bytes.size() * 4 / 3 + 4);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : bytes) {
    bits = (bits << 8) | static_cast<std::uint8_t>(c);
    for (held += 8; held >= 6; held -= 6) text += digits[(bits >> (held - 6)) & 63];
  }
  if (held > 0) text += digits[(bits << (6 - held)) & 63];
  return text;
}

} // namespace

std::string base64(std::string_view bytes) {
  auto text = encoded(bytes, base64_digits);
  while (text.size() % 4 != 0) text += '=';
  return text;
}

std::string base64url(std::string_view bytes) { return encoded(bytes, base64url_digits); }

} // namespace quell
