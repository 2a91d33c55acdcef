// Finds the beginnings and ends of code blocks.
#include "integrations/chat/fences.hpp"

#include <algorithm>

namespace quell::integrations::chat {
namespace {

constexpr std::string_view fence = "```";
constexpr std::size_t most_language = 32;

/// The end of the run of backticks that begins at `at`.
std::size_t run_end(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of('`', at), text.size());
}

/// The language after a fence, if it is alone on its line and the line is complete.
std::string_view language(std::string_view behind) {
  const auto end = behind.find('\n');
  if (end == std::string_view::npos || end > most_language) return {};
  const auto word = behind.substr(0, end);
  const bool is_word = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("+-_#.").find(static_cast<char>(c)) != std::string_view::npos;
  });
  return is_word ? word : std::string_view{};
}

/// The position of the fence that opens the code block in which `text` ends; npos = `text` ends outside of code.
std::size_t last_open(std::string_view text) {
  auto open = std::string_view::npos;
  for (auto at = text.find(fence); at != std::string_view::npos; at = text.find(fence, at)) {
    open = open == std::string_view::npos ? at : std::string_view::npos;
    at = run_end(text, at);
  }
  return open;
}

} // namespace

std::string open_fence(std::string_view text) {
  const auto at = last_open(text);
  if (at == std::string_view::npos) return {};
  return std::string(fence) + std::string(language(text.substr(run_end(text, at)))) + "\n";
}

std::string_view closing_fence(std::string_view text) {
  if (last_open(text) == std::string_view::npos) return {};
  return text.ends_with('\n') ? "```" : "\n```";
}

std::size_t cut_outside_fence(std::string_view text, std::size_t cut, std::size_t at_least) {
  if (cut >= text.size()) return cut;
  auto better = cut;
  while (better > 0 && text[better] == '`' && text[better - 1] == '`') --better; // not inside a run of backticks
  // Not directly after the opening line: the code block would be empty.
  if (const auto open = last_open(text.substr(0, better)); open != std::string_view::npos) {
    const auto behind = run_end(text, open);
    const auto line = text.find('\n', behind);
    const bool has_code = line < better && text.find_first_not_of(" \t\r\n", line) < better;
    if (!has_code) better = open;
  }
  return better > at_least && better > 0 ? better : cut;
}

} // namespace quell::integrations::chat
