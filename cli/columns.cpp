// Measures and cuts columns of text.
#include "cli/columns.hpp"

#include <wchar.h>

#include "cli/fields.hpp"

namespace quell::cli {
namespace {

struct piece {
  std::size_t bytes = 1;
  std::size_t columns = 0;
};

/// The character or colour escape at `at`.
piece piece_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first == 0x1b && at + 1 < text.size() && text[at + 1] == '[') {
    const auto end = text.find('m', at);
    return {end == std::string_view::npos ? text.size() - at : end + 1 - at, 0};
  }
  if (first < 0x80) return {1, 1};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  if (length == 1 || at + length > text.size()) return {1, 1};
  auto code = static_cast<wchar_t>(first & (0xff >> (length + 1)));
  for (std::size_t i = 1; i < length; ++i)
    code = static_cast<wchar_t>((code << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3f));
  const int width = ::wcwidth(code);
  return {length, width < 0 ? 1 : static_cast<std::size_t>(width)};
}

} // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto p = piece_at(text, at);
    columns += p.columns;
    at += p.bytes;
  }
  return columns;
}

std::string cut_columns(std::string_view text, std::size_t columns, character_set shown) {
  if (columns == 0 || columns_of(text) <= columns) return std::string(text);
  std::string out;
  std::size_t taken = 0;
  bool escaped = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto p = piece_at(text, at);
    if (taken + p.columns > columns - 1) break;
    escaped = escaped || text[at] == '\x1b';
    out += text.substr(at, p.bytes);
    taken += p.columns;
    at += p.bytes;
  }
  out += shown == character_set::utf8 ? "…" : "~";
  return escaped ? out + "\x1b[0m" : out;
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_space = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!is_space)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  while (out.ends_with(' ')) out.pop_back();
  return printable(out);
}

std::string safe_text(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find_first_of("\n\t\r", begin), text.size());
    out += printable(text.substr(begin, end - begin));
    if (end < text.size() && text[end] != '\r') out += text[end];
    begin = end + 1;
  }
  return out;
}

} // namespace quell::cli
