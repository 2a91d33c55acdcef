// Makes untrusted text safe to keep and to show.
#include "integrations/models/text.hpp"

#include <algorithm>

#include "protocol/utf8.hpp"

namespace quell::integrations {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

unsigned byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

} // namespace

// Table 3-7 of the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF.
std::size_t character_length(std::string_view text) {
  if (text.empty()) return 0;
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte_at(text, 1) < low || byte_at(text, 1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (!continues_character(text[i])) return 0;
  return length;
}

std::string repaired(std::string_view text) {
  std::string whole;
  whole.reserve(text.size());
  bool in_bad_run = false;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) {
      if (!in_bad_run) whole += replacement;
      in_bad_run = true;
      text.remove_prefix(1);
      continue;
    }
    in_bad_run = false;
    whole += text.substr(0, length);
    text.remove_prefix(length);
  }
  return whole;
}

std::string excerpt(std::string_view text, std::size_t characters) {
  // Text far beyond the excerpt need not be examined.
  const std::string whole = repaired(text.substr(0, characters * 8 + 64));
  std::string shown;
  std::size_t count = 0;
  bool pending_space = false;
  std::string_view rest = whole;
  while (!rest.empty()) {
    const std::size_t length = character_length(rest);
    const auto c = static_cast<unsigned char>(rest.front());
    if (c <= ' ' || c == 0x7F) {
      pending_space = !shown.empty();
    } else {
      if (count + (pending_space ? 1 : 0) >= characters) return shown + "…";
      if (pending_space) shown += ' ', ++count;
      pending_space = false;
      shown += rest.substr(0, length);
      ++count;
    }
    rest.remove_prefix(length);
  }
  return text.size() > characters * 8 + 64 ? shown + "…" : shown;
}

bool blank(std::string_view text) { return std::all_of(text.begin(), text.end(), is_space); }

std::string without(std::string text, std::string_view secret) {
  if (secret.size() < 8) return text;
  for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at))
    text.replace(at, secret.size(), "***");
  return text;
}

} // namespace quell::integrations
