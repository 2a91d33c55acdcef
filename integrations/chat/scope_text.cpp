// Conversion of chat services' ids and names to scope segments, and back.
#include "integrations/chat/scope_text.hpp"

namespace quell::integrations::chat {
namespace {

constexpr std::size_t most_characters = 128;
constexpr std::string_view digits = "0123456789ABCDEF";

bool is_plain(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         std::string_view("._-:@+=").find(c) != std::string_view::npos;
}

void append_hex(std::string& to, char c) {
  const auto byte = static_cast<unsigned char>(c);
  to += '~';
  to += digits[byte >> 4];
  to += digits[byte & 15];
}

} // namespace

std::optional<std::string> segment_of(std::string_view text) {
  if (text.empty()) return "~";
  if (text.size() > most_characters) return std::nullopt;
  const bool is_dots = text == "." || text == "..";
  std::string segment;
  for (const char c : text) {
    if (is_plain(c) && !is_dots)
      segment += c;
    else
      append_hex(segment, c);
  }
  if (segment.size() > most_characters) return std::nullopt;
  return segment;
}

std::optional<std::string> text_of_segment(std::string_view segment) {
  if (segment == "~") return "";
  std::string text;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] != '~') {
      text += segment[i];
      continue;
    }
    if (segment.size() - i < 3) return std::nullopt;
    const auto high = digits.find(segment[i + 1]), low = digits.find(segment[i + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  // One text has one segment: any other spelling than segment_of's is invalid.
  if (segment_of(text) != segment) return std::nullopt;
  return text;
}

std::optional<scope_path> scope_of(const std::vector<std::string_view>& texts) {
  std::string path;
  for (const auto text : texts) {
    const auto segment = segment_of(text);
    if (!segment) return std::nullopt;
    if (!path.empty()) path += '/';
    path += *segment;
  }
  auto scope = scope_path::parse(path);
  if (!scope) return std::nullopt;
  return std::move(*scope);
}

std::optional<std::vector<std::string>> texts_of(const scope_path& scope) {
  std::vector<std::string> texts;
  for (const auto segment : scope.segments()) {
    auto text = text_of_segment(segment);
    if (!text) return std::nullopt;
    texts.push_back(std::move(*text));
  }
  return texts;
}

} // namespace quell::integrations::chat
