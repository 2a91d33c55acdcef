// The lower end of a terminal: text that flows upwards permanently, and below it rows that change (the growing line,
// running tools) above the input line.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/columns.hpp"
#include "cli/text_flow.hpp"

namespace quell::cli {

class live_screen {
 public:
  struct input_line {
    std::function<std::size_t()> rows_above_cursor; ///< 0 if none is drawn
    std::function<void()> draw;
  };
  live_screen(std::function<void(std::string_view)> write, input_line input, character_set shown)
      : write_(std::move(write)), input_(std::move(input)), shown_(shown) {}

  void set_size(std::size_t columns, std::size_t rows);
  /// Streamed text.
  void add_text(std::string_view safe_text);
  /// Streamed text after this call begins a new line.
  void end_text();
  /// A whole separate line; it can be painted, and the terminal breaks it if it is too long.
  void add_line(const std::string& line);
  /// Sets the changing rows, each cut to the width.
  void set_rows(std::vector<std::string> rows);
  /// Draws all changing rows and the input line.
  void draw();
  /// Erases the changing rows (not the text that has flowed): the cursor is then at the end of the flow, at the start
  /// of a row.
  void clear();
  /// The drawn rows are no longer on the screen: starts again at the start of a line.
  void forget();
  std::size_t columns() const { return columns_; }

 private:
  void change(const std::string& whole_lines);

  std::function<void(std::string_view)> write_;
  input_line input_;
  text_flow flow_;
  std::vector<std::string> rows_;
  std::size_t columns_ = 80, height_ = 24;
  std::size_t drawn_rows_ = 0; ///< above the input line
  bool is_drawn_ = false;
  const character_set shown_;
};

} // namespace quell::cli
