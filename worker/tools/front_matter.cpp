// As much of YAML as the front matter of a skill needs. The rest is skipped.
#include "worker/tools/front_matter.hpp"

#include <algorithm>
#include <map>

#include "protocol/blanks.hpp"
#include "protocol/utf8.hpp"

namespace quell::worker::tools {

namespace {

constexpr std::size_t most_name_bytes = 64, most_description_bytes = 1024;

std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_indented(std::string_view line) { return line.starts_with(' ') || line.starts_with('\t'); }

/// The value without its quotes and escapes.
std::string unquoted(std::string_view value) {
  if (value.size() < 2 || value.front() != value.back() || (value.front() != '"' && value.front() != '\''))
    return std::string(value);
  const char quote = value.front();
  const auto inner = value.substr(1, value.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const bool is_escape = quote == '"' ? inner[i] == '\\' : inner[i] == '\'';
    if (is_escape && i + 1 < inner.size()) ++i;
    text += is_escape && quote == '"' && inner[i] == 'n' ? ' ' : inner[i];
  }
  return text;
}

/// One line without control characters.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return std::string(trimmed(text));
}

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= most_name_bytes &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

} // namespace

std::optional<skill_head> head_of_skill(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (trimmed(take_line(text)) != "---") return std::nullopt;
  std::map<std::string, std::string, std::less<>> fields;
  std::string* open = nullptr; ///< the field that an indented line continues
  bool is_closed = false;
  while (!text.empty() && !is_closed) {
    const auto line = take_line(text);
    is_closed = trimmed(line) == "---";
    if (is_closed) break;
    if (is_indented(line) || trimmed(line).empty()) {
      const auto more = trimmed(line);
      if (open && !more.empty()) *open += (open->empty() ? "" : " ") + std::string(more);
      continue;
    }
    open = nullptr;
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || line.starts_with('#')) continue;
    const auto key = trimmed(line.substr(0, colon));
    if (key != "name" && key != "description") continue;
    auto value = trimmed(line.substr(colon + 1));
    if (value.starts_with('>') || value.starts_with('|')) value = {};
    open = &(fields[std::string(key)] = std::string(value));
  }
  if (!is_closed) return std::nullopt;
  skill_head head{one_line(unquoted(fields["name"])), one_line(unquoted(fields["description"]))};
  head.description.resize(utf8_prefix(head.description, most_description_bytes).size());
  if (!is_name(head.name) || head.description.empty() || !is_utf8(head.description)) return std::nullopt;
  return head;
}

} // namespace quell::worker::tools
