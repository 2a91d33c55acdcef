// Names and escape sequences.
#include "cli/talk/talk_keys.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace quell::cli {

namespace {
constexpr std::array<std::pair<std::string_view, char>, 4> key_names{
    {{"space", ' '}, {"tab", '\t'}, {"enter", '\n'}, {"esc", escape_key}}};
}

std::optional<char> key_named(std::string_view name) {
  for (const auto& [word, key] : key_names)
    if (word == name) return key;
  if (name.size() != 1 || name[0] < ' ' || name[0] > '~') return std::nullopt;
  return name[0];
}

std::string name_of_key(char key) {
  for (const auto& [word, k] : key_names)
    if (k == key) return std::string(word);
  return {key};
}

std::string keys_in(std::string_view bytes) {
  std::string keys;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const bool begins_sequence =
        bytes[at] == escape_key && at + 1 < bytes.size() && (bytes[at + 1] == '[' || bytes[at + 1] == 'O');
    if (!begins_sequence) {
      keys += bytes[at];
      continue;
    }
    at += 2;
    while (at < bytes.size() && (bytes[at] < '@' || bytes[at] > '~')) ++at;
  }
  return keys;
}

} // namespace quell::cli
