// The tools that several servers offer to one turn. The knowledge about a silent server when the turn goes on:
// tests/actors/mcp_host_actor_test.cpp.
#include <catch2/catch.hpp>

#include <optional>
#include <string>
#include <vector>

#include "actors/turns/tool_gathering.hpp"

using namespace quell::controller::turns;

namespace {

std::vector<tool_definition> tool(const std::string& name) {
  tool_definition one;
  one.offer.name = name;
  return {one};
}

struct gathered {
  explicit gathered(std::size_t servers)
      : all(servers, [this](offered_tools what) {
          ++times;
          offered = std::move(what);
        }) {}
  std::vector<std::string> names() const {
    std::vector<std::string> all_names;
    for (const auto& one : offered->tools) all_names.push_back(one.offer.name);
    return all_names;
  }

  int times = 0;
  std::optional<offered_tools> offered;
  tool_gathering all;
};

} // namespace

TEST_CASE("a turn goes on when all servers have settled, with their tools in the order of the servers", "[mcp]") {
  gathered g(3);
  g.all.answer(2, {tool("c"), {}, {}});
  g.all.answer(1, {{}, "it is ill", "b"});
  CHECK_FALSE(g.offered);
  CHECK(g.all.is_settled(2));
  CHECK_FALSE(g.all.is_settled(0));
  g.all.answer(0, {tool("a"), {}, {}});
  REQUIRE(g.offered);
  CHECK(g.names() == std::vector<std::string>{"a", "c"});
  CHECK(g.offered->note == "it is ill");
  CHECK(g.offered->logins == std::vector<std::string>{"b"});
  g.all.answer(0, {tool("again"), {}, {}});
  CHECK(g.times == 1);
}

TEST_CASE("only the first contribution of a server counts", "[mcp]") {
  gathered late(1);
  late.all.answer(0, {{}, "too late", {}});
  late.all.answer(0, {tool("late"), {}, "late"});
  CHECK(late.times == 1);
  CHECK(late.offered->tools.empty());
  CHECK(late.offered->logins.empty());
  CHECK(late.offered->note == "too late");
}
