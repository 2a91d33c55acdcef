// The lines that a person typed before, in a file that only they can read.
#pragma once

#include <string>
#include <vector>

namespace quell::cli {

class input_history {
 public:
  /// Reads `path`; a file that is missing, owned by another user or not a plain file counts as an empty history.
  explicit input_history(std::string path);

  /// Oldest first, at most 1000.
  const std::vector<std::string>& lines() const { return lines_; }
  /// Remembers the line, here and in the file (made with mode 0600). A line repeated directly is kept once. Lines of
  /// simultaneous conversations mix in the file; none is lost.
  void add(const std::string& line);

 private:
  void rewrite_file();

  std::string path_;
  std::vector<std::string> lines_;
};

} // namespace quell::cli
