// Parses names before the text, and the two words of an approval.
#include "integrations/chat/addressing.hpp"

#include <algorithm>

#include "protocol/blanks.hpp"

namespace quell::integrations::chat {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool starts_with_name(std::string_view text, std::string_view name) {
  return !name.empty() && text.size() >= name.size() &&
         std::equal(name.begin(), name.end(), text.begin(), [](char a, char b) { return lower(a) == lower(b); });
}

} // namespace

address_split without_address(std::string_view text, const std::vector<std::string>& names) {
  const auto whole = trimmed(text);
  const bool has_at = whole.starts_with('@');
  const auto from = has_at ? whole.substr(1) : whole;
  for (const auto& name : names) {
    if (!starts_with_name(from, name)) continue;
    const auto rest = from.substr(name.size());
    if (trimmed(rest).find_first_not_of("?!.:,") == std::string_view::npos) return {true, false, whole};
    if (rest.front() == ':' || rest.front() == ',') return {true, false, behind_name(rest)};
    if (has_at && (rest.front() == ' ' || rest.front() == '\t')) return {true, false, trimmed(rest)};
  }
  return {false, false, whole};
}

std::string_view behind_name(std::string_view rest) {
  rest = trimmed(rest);
  if (rest.starts_with(',') || rest.starts_with(':')) rest.remove_prefix(1);
  return trimmed(rest);
}

std::optional<approval_text> read_approval(std::string_view text) {
  text = trimmed(text);
  const auto blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  std::string word, tail;
  for (const char c : text.substr(0, blank)) word += lower(c);
  for (const char c : trimmed(text.substr(blank))) tail += lower(c);
  if (word != "approve" && word != "deny") return std::nullopt;
  if (tail.size() < 4 || tail.size() > 36 || tail.find_first_not_of("0123456789abcdef-") != std::string::npos)
    return std::nullopt;
  return approval_text{word == "approve", std::move(tail)};
}

} // namespace quell::integrations::chat
