// Draws the lower end of the terminal.
#include "cli/live_screen.hpp"

#include "cli/columns.hpp"

namespace quell::cli {

void live_screen::set_size(std::size_t columns, std::size_t rows) {
  columns_ = columns > 1 ? columns : 80;
  height_ = rows > 2 ? rows : 24;
  flow_.set_columns(columns_);
}

void live_screen::clear() {
  if (!is_drawn_) return;
  const auto up = drawn_rows_ + input_.rows_above_cursor();
  write_((up > 0 ? "\x1b[" + std::to_string(up) + "A" : std::string()) + "\r\x1b[J");
  is_drawn_ = false;
  drawn_rows_ = 0;
}

void live_screen::forget() {
  if (is_drawn_) write_("\r\n");
  is_drawn_ = false;
  drawn_rows_ = 0;
}

void live_screen::draw() {
  clear();
  std::string out;
  if (!flow_.growing().empty()) {
    out += flow_.growing() + "\n";
    ++drawn_rows_;
  }
  const std::size_t room = height_ > 6 ? height_ - 4 : 2; // more rows could not be erased again
  const std::size_t shown = std::min(rows_.size(), room);
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last_of_too_many = i + 1 == shown && shown < rows_.size();
    out += cut_columns(is_last_of_too_many ? "  and " + std::to_string(rows_.size() - shown + 1) + " more" : rows_[i],
                       columns_ - 1, shown_) +
           "\n";
    ++drawn_rows_;
  }
  write_(out);
  is_drawn_ = true;
  input_.draw();
}

void live_screen::change(const std::string& whole_lines) {
  clear();
  write_(whole_lines);
  draw();
}

void live_screen::add_text(std::string_view safe_text) { change(flow_.add(safe_text)); }

void live_screen::end_text() {
  if (!flow_.growing().empty()) change(flow_.end_line());
}

void live_screen::add_line(const std::string& line) { change(flow_.end_line() + line + "\n"); }

void live_screen::set_rows(std::vector<std::string> rows) {
  if (rows == rows_ && is_drawn_) return;
  clear();
  rows_ = std::move(rows);
  draw();
}

} // namespace quell::cli
