// The grammar of RFC 2812 section 2.3.1 with IRCv3 tags: lenient when reading, strict when writing.
#include "integrations/chat/irc/line.hpp"

#include <algorithm>

#include "protocol/utf8.hpp"

namespace quell::integrations::chat::irc {
namespace {

using namespace std::string_view_literals;

std::string_view word(std::string_view& rest) {
  const auto end = std::min(rest.find(' '), rest.size());
  const auto found = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.find_first_not_of(' ', end), rest.size()));
  return found;
}

std::string unescaped(std::string_view value) {
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '\\') {
      text += value[i];
      continue;
    }
    if (++i == value.size()) break;
    switch (value[i]) {
    case ':':
      text += ';';
      break;
    case 's':
      text += ' ';
      break;
    case 'r':
      text += '\r';
      break;
    case 'n':
      text += '\n';
      break;
    default:
      text += value[i];
    }
  }
  return text;
}

void read_tags(std::string_view text, line& to) {
  while (!text.empty() && to.tags.size() < most_tags) {
    const auto one = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    const auto is = one.find('=');
    if (one.empty() || is == 0) continue;
    to.tags.emplace_back(one.substr(0, is), is == std::string_view::npos ? "" : unescaped(one.substr(is + 1)));
  }
}

} // namespace

std::string_view line::nick() const { return std::string_view(prefix).substr(0, prefix.find_first_of("!@")); }

std::string_view line::tag(std::string_view name) const {
  const auto it = std::find_if(tags.begin(), tags.end(), [&](const auto& t) { return t.first == name; });
  return it == tags.end() ? std::string_view() : std::string_view(it->second);
}

std::string_view line::parameter(std::size_t i) const {
  return i < parameters.size() ? std::string_view(parameters[i]) : std::string_view();
}

std::optional<line> read_line(std::string_view rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  line l;
  if (rest.starts_with('@')) read_tags(word(rest).substr(1), l);
  if (rest.starts_with(':')) l.prefix = word(rest).substr(1);
  for (const char c : word(rest)) {
    if ((c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')) return std::nullopt;
    l.command += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  if (l.command.empty()) return std::nullopt;
  while (!rest.empty() && l.parameters.size() < most_parameters) {
    if (rest.starts_with(':')) {
      l.parameters.emplace_back(rest.substr(1));
      break;
    }
    l.parameters.emplace_back(word(rest));
  }
  return l;
}

std::string write_line(std::initializer_list<std::string_view> words, std::optional<std::string_view> trailing) {
  std::string text;
  for (const auto w : words) {
    if (w.empty() || w.front() == ':' || w.find_first_of("\r\n\0 "sv) != std::string_view::npos) return {};
    if (!text.empty()) text += ' ';
    text += w;
  }
  if (text.empty() || text.size() + 2 > most_line_bytes) return {};
  if (trailing) {
    text += " :";
    for (const char c : *trailing) text += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  }
  if (text.size() + 2 > most_line_bytes) {
    text.resize(utf8_prefix(text, most_line_bytes - 2).size());
  }
  return text + "\r\n";
}

std::optional<std::string_view> line_reader::next() {
  bytes_.erase(0, taken_);
  taken_ = 0;
  while (true) {
    const auto end = bytes_.find('\n', taken_);
    if (end == std::string::npos) {
      bytes_.erase(0, taken_);
      taken_ = 0;
      if (bytes_.size() > most_read_bytes || is_skipping_) {
        bytes_.clear();
        is_skipping_ = true;
      }
      return std::nullopt;
    }
    const auto begin = taken_;
    taken_ = end + 1;
    if (std::exchange(is_skipping_, false) || end - begin > most_read_bytes) continue;
    auto found = std::string_view(bytes_).substr(begin, end - begin);
    while (found.ends_with('\r')) found.remove_suffix(1);
    if (!found.empty()) return found;
  }
}

void line_reader::clear() { *this = {}; }

} // namespace quell::integrations::chat::irc
