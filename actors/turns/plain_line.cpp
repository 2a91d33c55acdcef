// Takes a line apart of which nothing is left to a shell's interpretation but the operators between its commands.
#include "actors/turns/approval.hpp"

#include "protocol/blanks.hpp"

namespace quell::controller::turns {
namespace {

constexpr std::string_view plain_marks = "_-./:=,@%+ ";

bool is_plain_of_line(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         plain_marks.find(c) != std::string_view::npos;
}

} // namespace

std::optional<std::vector<std::string>> plain_commands(std::string_view line) {
  std::vector<std::string> commands;
  std::size_t begin = 0;
  const auto add = [&](std::size_t end) {
    commands.emplace_back(trimmed(line.substr(begin, end - begin)));
    return !commands.back().empty();
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (is_plain_of_line(line[i])) continue;
    const auto two = line.substr(i, 2);
    const bool is_double = two == "&&" || two == "||";
    if (!is_double && line[i] != '|' && line[i] != ';') return std::nullopt;
    if (!add(i)) return std::nullopt;
    i += is_double ? 1 : 0;
    begin = i + 1;
  }
  if (!add(line.size())) return std::nullopt;
  return commands;
}

} // namespace quell::controller::turns
