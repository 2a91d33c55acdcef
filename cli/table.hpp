// Aligned tables. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/columns.hpp"

namespace quell::cli {

class table {
 public:
  /// Names that end in `>` are right-aligned (the mark is not shown).
  explicit table(std::vector<std::string> columns);
  /// As many cells as columns; cells can be painted.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// One line per row, two spaces between columns, the last column not padded; lines cut to `columns` (0 = not cut).
  std::string text(int columns, character_set shown) const;

 private:
  std::vector<std::string> names_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

} // namespace quell::cli
