// Breaks streamed text into lines.
#include "cli/text_flow.hpp"

#include "cli/columns.hpp"
#include "protocol/stop_signs.hpp"
#include "protocol/utf8.hpp"

namespace quell::cli {

std::string text_flow::add(std::string_view text) {
  std::string whole;
  for (const char c : text) {
    if (c == '\n') {
      whole += broken();
      whole += without_stop_signs(growing_) + "\n";
      growing_.clear();
    } else if (c == '\t') {
      growing_.append(8 - columns_of(growing_) % 8, ' ');
    } else {
      growing_ += c;
    }
    if (growing_.size() >= 4096) whole += broken(); // bounds the cost of an endless line
  }
  return whole + broken();
}

std::string text_flow::growing() const { return without_stop_signs(growing_); }

std::string text_flow::end_line() {
  if (growing_.empty()) return {};
  std::string line = growing() + "\n";
  growing_.clear();
  return line;
}

/// Breaks lines off the growing one until it fits; at the last space that fits, otherwise in the middle of a word.
std::string text_flow::broken() {
  std::string lines;
  while (columns_ > 1 && columns_of(growing_) >= columns_) {
    std::size_t fits = 0, last_space = std::string::npos;
    for (std::size_t at = 0, taken = 0; at < growing_.size();) {
      const std::size_t end = character_boundary(growing_, at + 1);
      taken += columns_of(std::string_view(growing_).substr(at, end - at));
      if (taken >= columns_) break;
      if (growing_[at] == ' ') last_space = at;
      fits = at = end;
    }
    if (fits == 0) break;
    const bool at_space = last_space != std::string::npos && last_space > 0;
    lines += without_stop_signs(growing_.substr(0, at_space ? last_space : fits)) + "\n";
    growing_.erase(0, at_space ? last_space + 1 : fits);
  }
  return lines;
}

} // namespace quell::cli
