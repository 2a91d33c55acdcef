// Output as JSON lines.
#include "cli/output_line.hpp"

#include <nlohmann/json.hpp>

#include "protocol/utf8.hpp"

namespace quell::cli {
namespace {
constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Length of the character that begins with this byte; 0 if none does.
std::size_t character_length(unsigned char byte) {
  if (byte < 0x80) return 1;
  if (byte >= 0xc2 && byte < 0xe0) return 2;
  if (byte >= 0xe0 && byte < 0xf0) return 3;
  if (byte >= 0xf0 && byte < 0xf5) return 4;
  return 0;
}

} // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : digits[group >> (18 - 6 * k) & 63];
  }
  return out;
}

std::string from_base64(std::string_view text) {
  std::string out;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    const auto at = digits.find(c);
    if (at == std::string_view::npos) continue;
    group = group << 6 | static_cast<std::uint32_t>(at);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>(group >> bits & 0xff);
  }
  return out;
}

std::size_t cut_character(std::string_view bytes) {
  for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    return character_length(byte) > back ? back : 0;
  }
  return 0;
}

nlohmann::json output_line(const std::string& operation, const std::string& stream, std::uint64_t offset,
                           std::string_view bytes) {
  nlohmann::json out{{"type", "output"}, {"operation", operation}, {"stream", stream}, {"offset", offset}};
  if (is_utf8(bytes))
    out["text"] = std::string(bytes);
  else
    out["base64"] = base64(bytes);
  return out;
}

} // namespace quell::cli
