// Makes UUIDv7 from their parts, writes and parses them. Pure.
#include "protocol/id.hpp"

namespace quell {

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool is_dash_position(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

} // namespace

uuid_bytes make_uuid7(wall_time at, const std::array<std::uint8_t, 10>& random) {
  const auto ms = static_cast<std::uint64_t>(at.time_since_epoch().count());
  uuid_bytes bytes{};
  for (std::size_t i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(ms >> (40 - 8 * i));
  std::memcpy(bytes.data() + 6, random.data(), random.size());
  bytes[6] = static_cast<std::uint8_t>(0x70 | (bytes[6] & 0x0f));
  bytes[8] = static_cast<std::uint8_t>(0x80 | (bytes[8] & 0x3f));
  return bytes;
}

std::string uuid_text(const uuid_bytes& bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (const std::uint8_t byte : bytes) {
    if (is_dash_position(text.size())) text += '-';
    text += digits[byte >> 4];
    text += digits[byte & 0xf];
  }
  return text;
}

std::optional<uuid_bytes> parse_uuid7(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  uuid_bytes bytes{};
  std::size_t nibble = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_dash_position(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int value = hex_value(text[i]);
    if (value < 0) return std::nullopt;
    bytes[nibble / 2] = static_cast<std::uint8_t>((bytes[nibble / 2] << 4) | value);
    ++nibble;
  }
  const bool is_version_7 = (bytes[6] >> 4) == 7;
  const bool is_rfc_variant = (bytes[8] >> 6) == 2;
  if (!is_version_7 || !is_rfc_variant) return std::nullopt;
  return bytes;
}

wall_time uuid_time(const uuid_bytes& bytes) {
  std::int64_t ms = 0;
  for (std::size_t i = 0; i < 6; ++i) ms = (ms << 8) | bytes[i];
  return wall_time{milliseconds{ms}};
}

} // namespace quell
