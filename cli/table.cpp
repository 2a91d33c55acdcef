// Aligned tables.
#include "cli/table.hpp"

#include <algorithm>

#include "cli/terminal.hpp"

namespace quell::cli {

table::table(std::vector<std::string> columns) : names_(std::move(columns)) {
  for (auto& name : names_) {
    right_.push_back(name.ends_with('>'));
    if (right_.back()) name.pop_back();
  }
}

void table::add(std::vector<std::string> cells) {
  cells.resize(names_.size());
  rows_.push_back(std::move(cells));
}

std::string table::text(int columns, character_set shown) const {
  std::vector<std::size_t> widths;
  for (const auto& name : names_) widths.push_back(shown_width(name));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], shown_width(row[i]));
  std::string out;
  const auto draw = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - shown_width(row[i]), ' ');
      if (i > 0) line += "  ";
      if (right_[i])
        line += padding + row[i];
      else
        line += i + 1 == row.size() ? row[i] : row[i] + padding;
    }
    while (line.ends_with(' ')) line.pop_back();
    out += cut(line, static_cast<std::size_t>(std::max(columns, 0)), shown) + "\n";
  };
  draw(names_);
  for (const auto& row : rows_) draw(row);
  return out;
}

} // namespace quell::cli
