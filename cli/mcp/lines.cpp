// Splits bytes into lines.
#include "cli/mcp/lines.hpp"

#include <utility>

namespace quell::cli::mcp {

void line_reader::take(std::string_view bytes, const sink& out) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto piece = bytes.substr(0, end);
    if (!over_ && line_.size() + piece.size() <= most_)
      line_ += piece;
    else
      over_ = true;
    if (over_) line_.clear();
    if (end == std::string_view::npos) return;
    finish(out);
    bytes.remove_prefix(end + 1);
  }
}

void line_reader::finish(const sink& out) {
  // Passed on as a copy: its handler can cause more bytes to arrive.
  std::string whole;
  whole.swap(line_);
  if (std::exchange(over_, false)) return out.too_long();
  if (whole.ends_with('\r')) whole.pop_back();
  if (whole.find_first_not_of(" \t") != std::string::npos) out.line(whole);
}

} // namespace quell::cli::mcp
