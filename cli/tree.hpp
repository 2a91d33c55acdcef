// Draws a forest with box characters (ASCII if the locale has none). Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/columns.hpp"

namespace quell::cli {

struct tree_node {
  std::string id;
  std::string parent; ///< "" or an id that is not among the nodes: drawn as a root
  std::string text;
};

/// One line per node with its branch in front, children under their parent in the given order. Depth has no limit; a
/// cycle is drawn as roots.
std::vector<std::string> drawn_tree(const std::vector<tree_node>& nodes, character_set shown);

} // namespace quell::cli
