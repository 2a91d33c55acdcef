// Output as JSON lines.
#include "cli/output_line.hpp"

#include <nlohmann/json.hpp>

#include "protocol/base64.hpp"
#include "protocol/utf8.hpp"

namespace quell::cli {
namespace {

/// Length of the character that begins with this byte; 0 if none does.
std::size_t character_length(unsigned char byte) {
  if (byte < 0x80) return 1;
  if (byte >= 0xc2 && byte < 0xe0) return 2;
  if (byte >= 0xe0 && byte < 0xf0) return 3;
  if (byte >= 0xf0 && byte < 0xf5) return 4;
  return 0;
}

} // namespace

std::string from_base64(std::string_view text) {
  std::string out;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    const auto at = base64_digits.find(c);
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
    const char byte = bytes[bytes.size() - back];
    if (continues_character(byte)) continue;
    return character_length(static_cast<unsigned char>(byte)) > back ? back : 0;
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
