// Splits bytes that arrive in arbitrary pieces into lines of bounded length.
#include "integrations/mcp/lines.hpp"

namespace quell::integrations {
namespace {

constexpr std::size_t kept_of_long_lines = 512;

void keep_last(std::string& last, std::string_view more) {
  if (more.size() > kept_of_long_lines) more.remove_prefix(more.size() - kept_of_long_lines);
  last += more;
  if (last.size() > kept_of_long_lines) last.erase(0, last.size() - kept_of_long_lines);
}

} // namespace

void line_splitter::take(std::string_view bytes, const sink& out) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (!over_ && line_.size() + piece.size() > most_) {
      over_ = true;
      first_ = line_.substr(0, kept_of_long_lines);
      first_ += piece.substr(0, kept_of_long_lines - first_.size());
      keep_last(last_, line_);
      line_ = {}; // releases the memory
    }
    if (end == std::string_view::npos) {
      if (over_)
        keep_last(last_, piece);
      else
        line_ += piece;
      return;
    }
    end_line(piece, out);
    bytes.remove_prefix(end + 1);
  }
}

void line_splitter::end_line(std::string_view rest, const sink& out) {
  if (over_) {
    keep_last(last_, rest);
    over_ = false;
    const std::string first = std::move(first_), last = std::move(last_);
    first_.clear();
    last_.clear();
    return out.too_long(first, last);
  }
  std::string whole;
  if (!line_.empty()) {
    line_ += rest;
    whole.swap(line_);
    rest = whole;
  }
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  if (!rest.empty()) out.line(rest);
}

} // namespace quell::integrations
