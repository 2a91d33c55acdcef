// The terminal: width, colour, character set.
#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "protocol/utf8.hpp"

namespace quell::cli {
namespace {

character_set of_locale(const environment& env) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const auto value = env(name)) {
      std::string lower = *value;
      std::transform(lower.begin(), lower.end(), lower.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      const bool is_utf8 = lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
      return is_utf8 ? character_set::utf8 : character_set::ascii;
    }
  return character_set::ascii;
}

/// Bytes of the escape sequence at `at`, 0 if there is none.
std::size_t escape_length(std::string_view text, std::size_t at) {
  if (text[at] != '\x1b' || at + 1 >= text.size() || text[at + 1] != '[') return 0;
  std::size_t end = at + 2;
  while (end < text.size() && text[end] != 'm') ++end;
  return std::min(end + 1, text.size()) - at;
}

} // namespace

terminal this_terminal(color_mode mode, const environment& env) {
  terminal t;
  t.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
  t.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
  const bool wanted = mode == color_mode::always ||
                      (mode == color_mode::automatic && !env("NO_COLOR") && env("TERM").value_or("") != "dumb");
  t.color_out = wanted && (t.out_is_terminal || mode == color_mode::always);
  t.color_err = wanted && (t.err_is_terminal || mode == color_mode::always);
  t.characters = of_locale(env);
  winsize size{};
  if (t.out_is_terminal)
    t.columns = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  return t;
}

std::string painted(std::string_view text, color c, bool has_colors) {
  constexpr std::array<std::string_view, 7> codes{"", "1", "2", "31", "32", "33", "34"};
  if (!has_colors || c == color::none || text.empty()) return std::string(text);
  return "\x1b[" + std::string(codes[static_cast<std::size_t>(c)]) + "m" + std::string(text) + "\x1b[0m";
}

color color_of_status(std::string_view status) {
  if (status == "running" || status == "ready") return color::green;
  if (status == "failed" || status == "lost") return color::red;
  if (status == "cancelling" || status == "unreachable" || status == "draining" || status == "fenced" ||
      status == "signalled")
    return color::yellow;
  if (status == "pending" || status == "paused" || status == "enrolled") return color::blue;
  return color::dim;
}

std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (const auto escape = escape_length(text, i)) {
      i += escape;
      continue;
    }
    if (!continues_character(text[i])) ++width;
    ++i;
  }
  return width;
}

std::string cut(std::string_view text, std::size_t columns, character_set shown) {
  if (columns == 0 || shown_width(text) <= columns) return std::string(text);
  std::string out;
  std::size_t width = 0;
  bool escaped = false;
  for (std::size_t i = 0; i < text.size();) {
    if (const auto escape = escape_length(text, i)) {
      out += text.substr(i, escape);
      escaped = true;
      i += escape;
      continue;
    }
    if (!continues_character(text[i]) && ++width >= columns) break;
    out += text[i++];
  }
  out += shown == character_set::utf8 ? "…" : "~";
  return escaped ? out + "\x1b[0m" : out;
}

} // namespace quell::cli
