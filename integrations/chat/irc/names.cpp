// Folds names by the server's rule and makes scopes by the connectors' common rule.
#include "integrations/chat/irc/names.hpp"

#include "integrations/chat/scope_text.hpp"

namespace quell::integrations::chat::irc {

case_mapping mapping_of(std::string_view name) {
  if (name == "rfc1459") return case_mapping::rfc1459;
  if (name == "strict-rfc1459" || name == "rfc1459-strict") return case_mapping::rfc1459_strict;
  return case_mapping::ascii;
}

std::string folded(std::string_view name, case_mapping mapping) {
  std::string text(name);
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
    else if (mapping != case_mapping::ascii && (c == '[' || c == ']' || c == '\\'))
      c = static_cast<char>(c + ('{' - '['));
    else if (mapping == case_mapping::rfc1459 && c == '~')
      c = '^';
  }
  return text;
}

bool is_sendable(std::string_view name) {
  if (name.empty() || name.size() > 128 || name.front() == ':') return false;
  for (const char c : name)
    if (static_cast<unsigned char>(c) <= ' ' || c == ',' || c == 0x7F) return false;
  return true;
}

std::optional<scope_path> scope_of_target(std::string_view network, std::string_view target, case_mapping mapping) {
  return scope_of({"irc", network, folded(target, mapping)});
}

std::optional<std::string> target_of_scope(const scope_path& scope, std::string_view network) {
  const auto segments = scope.segments();
  if (segments.size() < 3 || segments[0] != "irc" || text_of_segment(segments[1]) != network) return std::nullopt;
  auto target = text_of_segment(segments[2]);
  if (!target || !is_sendable(*target)) return std::nullopt;
  return target;
}

} // namespace quell::integrations::chat::irc
