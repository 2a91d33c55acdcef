// Speeds, prefixes and error texts.
#include "integrations/voice/words.hpp"

#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "integrations/voice/wire.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations::voice {

namespace {

/// Pictures, what joins them, and what colours them.
bool is_sign(char32_t c) {
  return (c >= 0x2300 && c <= 0x23FF) || (c >= 0x2600 && c <= 0x27BF) || (c >= 0x2B00 && c <= 0x2BFF) ||
         (c >= 0xFE00 && c <= 0xFE0F) || c == 0x200D || c == 0x20E3 || (c >= 0x1F000 && c <= 0x1FAFF) ||
         (c >= 0xE0020 && c <= 0xE007F);
}

/// The character at the beginning of valid UTF-8, which is not empty, and its number of bytes.
std::pair<char32_t, std::size_t> first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const auto lead = byte(0);
  const std::size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (size == 1 || size > text.size()) return {lead, 1};
  char32_t c = lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) c = (c << 6U) | (byte(i) & 0x3FU);
  return {c, size};
}

} // namespace

std::string without_signs(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const auto [c, size] = first_character(text);
    const bool is_second_space = c == ' ' && (plain.empty() || plain.back() == ' ');
    if (!is_sign(c) && !is_second_space) plain += text.substr(0, size);
    text.remove_prefix(size);
  }
  while (!plain.empty() && plain.back() == ' ') plain.pop_back();
  return plain;
}

paced_text read_speed(std::string_view answer) {
  constexpr std::string_view head = "[SPEED:";
  constexpr double slowest = 0.5, fastest = 2.0;
  paced_text read{std::string(answer), 1.0};
  const auto end = answer.find(']');
  if (!answer.starts_with(head) || end == std::string_view::npos) return read;
  const auto number = answer.substr(head.size(), end - head.size());
  double speed = 0;
  const auto [at, bad] = std::from_chars(number.data(), number.data() + number.size(), speed);
  if (bad == std::errc{} && at == number.data() + number.size() && speed >= slowest && speed <= fastest)
    read.speed = speed;
  auto rest = answer.substr(end + 1);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  read.text = std::string(rest);
  return read;
}

std::string prefixed(std::string_view prefix, std::string_view text) {
  return std::string(prefix) + std::string(utf8_prefix(text, most_text_bytes - prefix.size()));
}

std::string error_json(std::string_view code, std::string_view detail) {
  const nlohmann::json error_fields = {{"code", code}, {"detail", detail}};
  return error_fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace quell::integrations::voice
