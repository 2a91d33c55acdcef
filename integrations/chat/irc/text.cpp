// Formatting codes of https://modern.ircdocs.horse/formatting, CTCP, and line cutting.
#include "integrations/chat/irc/text.hpp"

#include <algorithm>

#include "integrations/chat/irc/line.hpp"
#include "integrations/chat/text_length.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations::chat::irc {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f'); }

/// The length of a colour code at `at`: up to `most` characters that `fits` accepts, optionally a comma and as many
/// again.
template <class Fits>
std::size_t colour(std::string_view text, std::size_t at, std::size_t least, std::size_t most, Fits fits) {
  const auto run = [&](std::size_t from) {
    std::size_t count = 0;
    while (count < most && from + count < text.size() && fits(text[from + count])) ++count;
    return count < least ? 0 : count;
  };
  const auto first = run(at);
  if (first == 0 || at + first >= text.size() || text[at + first] != ',') return first;
  const auto second = run(at + first + 1);
  return second == 0 ? first : first + 1 + second;
}

} // namespace

std::string plain(std::string_view text) {
  std::string bare;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == 0x03)
      i += colour(text, i + 1, 1, 2, is_digit);
    else if (c == 0x04)
      i += colour(text, i + 1, 6, 6, is_hex);
    else if (c == '\t')
      bare += ' ';
    else if (static_cast<unsigned char>(c) >= ' ' && c != 0x7F)
      bare += c;
  }
  return repaired(bare);
}

std::optional<ctcp> read_ctcp(std::string_view text) {
  if (!text.starts_with('\x01')) return std::nullopt;
  text.remove_prefix(1);
  if (text.ends_with('\x01')) text.remove_suffix(1);
  const auto end = std::min(text.find(' '), text.size());
  ctcp found;
  for (const char c : text.substr(0, end)) found.command += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  found.text = text.substr(std::min(end + 1, text.size()));
  return found;
}

std::vector<std::string> lines_of(std::string_view text, std::size_t most) {
  most = std::max<std::size_t>(most, 4);
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of("\r\n"), text.size());
    std::string one(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    for (char& c : one)
      if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) c = ' ';
    if (one.find_first_not_of(' ') == std::string::npos) continue;
    for (std::string_view rest = one; !rest.empty();) {
      const auto cut = std::max<std::size_t>(good_cut(rest, most, length_unit::bytes), 1);
      lines.emplace_back(rest.substr(0, cut));
      rest.remove_prefix(cut);
    }
  }
  return lines;
}

std::size_t room_for_text(std::string_view prefix, std::string_view target) {
  // `:prefix PRIVMSG target :text\r\n`
  const auto taken = 1 + prefix.size() + std::string_view(" PRIVMSG ").size() + target.size() + 2 + 2;
  return taken + 64 < most_line_bytes ? most_line_bytes - taken : 64;
}

} // namespace quell::integrations::chat::irc
