// Streamed text of a model, broken into lines of a terminal at words: finished lines, and the line that still grows.
// None of them begins with a sign of quell's own words about a stop (stop_signs.hpp). Pure.
#pragma once

#include <string>
#include <string_view>

namespace quell::cli {

class text_flow {
 public:
  /// 0 = lines are never broken.
  void set_columns(std::size_t columns) { columns_ = columns; }
  /// Takes safe text (`safe_text`); returns the lines that are now complete, each with its line break.
  std::string add(std::string_view text);
  /// Ends the growing line, if there is one.
  std::string end_line();
  /// The line that still grows: always shorter than the terminal's width.
  std::string growing() const;

 private:
  std::string broken();

  std::size_t columns_ = 80;
  std::string growing_;
};

} // namespace quell::cli
