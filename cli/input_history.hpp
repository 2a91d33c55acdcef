// What a person typed before, one line each, in a file that only they can read.
#pragma once

#include <string>
#include <vector>

namespace quell::cli {

class input_history {
 public:
  /// Reads `path`; a file that is missing, somebody else's or no plain file is an empty history.
  explicit input_history(std::string path);

  /// Oldest first, at most 1000.
  const std::vector<std::string>& lines() const { return lines_; }
  /// Remembers the line, here and in the file (made with mode 0600). The same line twice in a row is kept once. Lines
  /// of several conversations at once mix in the file; none is lost.
  void add(const std::string& line);

 private:
  void write_again();

  std::string path_;
  std::vector<std::string> lines_;
};

} // namespace quell::cli
