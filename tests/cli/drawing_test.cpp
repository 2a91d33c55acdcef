// Tables, trees and widths.
#include <catch2/catch.hpp>

#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "cli/tree.hpp"

using namespace quell::cli;

TEST_CASE("a table aligns by what is shown, not by bytes or escapes") {
  table t({"NAME", "N>", "LAST"});
  t.add({"ä", "7", "x"});
  t.add({painted("long", color::red, true), "1234", "y"});
  CHECK(t.text(0, character_set::utf8) == "NAME     N  LAST\nä        7  x\n\x1b[31mlong\x1b[0m  1234  y\n");
}

TEST_CASE("a line is cut only to a given width, and the cut is shown") {
  CHECK(cut("abcdef", 0, character_set::utf8) == "abcdef");
  CHECK(cut("abcdef", 6, character_set::utf8) == "abcdef");
  CHECK(cut("abcdef", 4, character_set::utf8) == "abc…");
  CHECK(cut("abcdef", 4, character_set::ascii) == "abc~");
  CHECK(cut("äöüß", 3, character_set::utf8) == "äö…");
}

TEST_CASE("a forest is drawn with its branches") {
  const std::vector<tree_node> nodes{
      {"a", "", "a"}, {"b", "a", "b"}, {"c", "b", "c"}, {"d", "a", "d"}, {"e", "gone", "e"}};
  CHECK(drawn_tree(nodes, character_set::utf8) == std::vector<std::string>{"a", "├─ b", "│  └─ c", "└─ d", "e"});
  CHECK(drawn_tree(nodes, character_set::ascii) == std::vector<std::string>{"a", "|- b", "|  `- c", "`- d", "e"});
}

TEST_CASE("a cycle or a very deep tree is drawn all the same, each node once") {
  CHECK(drawn_tree({{"a", "b", "a"}, {"b", "a", "b"}, {"c", "c", "c"}}, character_set::utf8).size() == 3);
  std::vector<tree_node> deep;
  for (int i = 0; i < 2000; ++i) deep.push_back({std::to_string(i), i == 0 ? "" : std::to_string(i - 1), "x"});
  CHECK(drawn_tree(deep, character_set::utf8).size() == 2000);
}
