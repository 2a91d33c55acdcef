// Blocks of type image, and embedded resources with bytes.
#include "integrations/mcp/media.hpp"

#include <array>
#include <optional>

#include "integrations/mcp/limits.hpp"
#include "integrations/models/text.hpp"
#include "protocol/attachment.hpp"
#include "protocol/base64.hpp"

namespace quell::integrations::mcp {
namespace {

/// Nullopt for a text that is not base64. White space is skipped, and padding may be missing.
std::optional<std::string> bytes_of(std::string_view text) {
  static const auto values = [] {
    std::array<int, 256> all{};
    all.fill(-1);
    for (std::size_t i = 0; i < base64_digits.size(); ++i)
      all.at(static_cast<unsigned char>(base64_digits[i])) = static_cast<int>(i);
    return all;
  }();
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int count = 0;
  bool is_over = false;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ') continue;
    is_over = is_over || c == '=';
    if (c == '=') continue;
    const int value = values.at(static_cast<unsigned char>(c));
    if (value < 0 || is_over) return std::nullopt;
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xFFU);
  }
  return bytes;
}

json line_of(const std::string& type, const std::string& what) {
  return {{"type", "text"}, {"text", "[" + excerpt(type, 64) + ", " + what + "]"}};
}

} // namespace

std::vector<mcp_media> take_media(json& content) {
  std::vector<mcp_media> all;
  if (!content.is_array()) return all;
  for (json& block : content) {
    const bool is_image = text_member(block, "type") == "image";
    const json& from = is_image ? block : member(block, "resource");
    const std::string data = text_member(from, is_image ? "data" : "blob");
    const std::string type = plain_media_type(text_member(from, "mimeType"));
    if (!is_image &&
        (data.empty() || text_member(block, "type") != "resource" || media_kind_of(type) == media_kind::other))
      continue;
    auto bytes = bytes_of(data);
    if (!bytes || !check_media(type, *bytes)) {
      block = line_of(type, "left out: its bytes are not of this type, or models are not sent it");
    } else if (all.size() >= mcp_limits::media) {
      block = line_of(type, "left out: there are too many");
    } else {
      block = line_of(type, std::to_string(bytes->size()) + " bytes");
      all.push_back({type, std::move(*bytes)});
    }
  }
  return all;
}

} // namespace quell::integrations::mcp
