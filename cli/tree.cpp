// Draws a forest without recursion: a tree can have any depth.
#include "cli/tree.hpp"

#include <unordered_map>

namespace quell::cli {

std::vector<std::string> drawn_tree(const std::vector<tree_node>& nodes, character_set shown) {
  const bool is_utf8 = shown == character_set::utf8;
  const std::string branch = is_utf8 ? "├─ " : "|- ", last = is_utf8 ? "└─ " : "`- ", pipe = is_utf8 ? "│  " : "|  ";
  std::unordered_map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < nodes.size(); ++i) index.emplace(nodes[i].id, i);
  std::vector<std::vector<std::size_t>> children(nodes.size());
  std::vector<std::size_t> roots;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto parent = index.find(nodes[i].parent);
    if (parent == index.end() || parent->second == i)
      roots.push_back(i);
    else
      children[parent->second].push_back(i);
  }
  struct step {
    std::size_t node;
    std::string before; ///< prefix of its own line
    std::string below;  ///< prefix of its children's lines
  };
  std::vector<std::string> lines;
  std::vector<bool> drawn(nodes.size(), false);
  const auto draw_from = [&](std::size_t root) {
    std::vector<step> stack{{root, "", ""}};
    while (!stack.empty()) {
      const step s = std::move(stack.back());
      stack.pop_back();
      if (drawn[s.node]) continue;
      drawn[s.node] = true;
      lines.push_back(s.before + nodes[s.node].text);
      const auto& below = children[s.node];
      for (std::size_t i = below.size(); i-- > 0;) {
        const bool is_last = i + 1 == below.size();
        stack.push_back({below[i], s.below + (is_last ? last : branch), s.below + (is_last ? "   " : pipe)});
      }
    }
  };
  for (const auto root : roots) draw_from(root);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!drawn[i]) draw_from(i);
  return lines;
}

} // namespace quell::cli
